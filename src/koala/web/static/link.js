// The input in the part of the address after #, which browsers keep to themselves.

const LONGEST = 16000; // what browsers and mail programs carry without harm

/** Write the input as the end of an address; fails if it would be too long. */
export function writeLink(input) {
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const link = `#input=${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  if (link.length > LONGEST) {
    throw new Error("The text is too long for a link. Save it as a file instead.");
  }
  return link;
}

/** Read the input from the end of an address: null if there is none, an error if it is broken. */
export function readLink(hash) {
  if (!hash.startsWith("#input=")) return null;
  try {
    const letters = hash.slice(7).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const input = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const names = input.entities ?? null;
    const { id, text, model } = input;
    const isFine = [id ?? "", text, model ?? ""].every((value) => typeof value === "string");
    const areNames = names === null || (Array.isArray(names) && names.every((n) => typeof n === "string"));
    if (!isFine || !areNames) throw new Error();
    return { id, text, model, entities: names };
  } catch {
    throw new Error("The link is broken: no input can be read from it.");
  }
}
