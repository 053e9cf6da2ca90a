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

const isText = (value) => typeof value === "string";

/** Tell whether a value is a fixed cell, as the API has it. */
const isFix = (value) =>
  isText(value?.entity) &&
  Number.isInteger(value.step) &&
  [value.location ?? "", value.action ?? ""].every(isText);

/** Read the input from the end of an address: null if there is none, an error if it is broken. */
export function readLink(hash) {
  if (!hash.startsWith("#input=")) return null;
  try {
    const letters = hash.slice(7).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const input = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const { id, text, model, entities = null, fixed = [] } = input;
    const areTexts = [id ?? "", text, model ?? ""].every(isText);
    const areNames = entities === null || (Array.isArray(entities) && entities.every(isText));
    const areFixes = Array.isArray(fixed) && fixed.every(isFix);
    if (!areTexts || !areNames || !areFixes) throw new Error();
    return { id, text, model, entities, fixed };
  } catch {
    throw new Error("The link is broken: no input can be read from it.");
  }
}
