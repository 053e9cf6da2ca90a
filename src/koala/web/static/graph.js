// The process graph: the server draws it, and only what a drawing needs is taken over.

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "path", "rect", "text", "tspan", "title"]);
const ATTRIBUTES = new Set([
  "aria-label", "class", "d", "height", "role", "rx", "viewBox", "width", "x", "y",
]);

/** Copy a drawing element by element; what is not on the lists stays behind. */
function copy(source) {
  const node = document.createElementNS(SVG, source.localName);
  for (const { name, value } of source.attributes) {
    if (ATTRIBUTES.has(name)) node.setAttribute(name, value);
  }
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) node.append(child.data);
    else if (ELEMENTS.has(child.localName)) node.append(copy(child));
  }
  return node;
}

/** Read a picture; null if it is none, or an empty one. */
export function readDrawing(text) {
  // Its colours are the page's here; the browser would refuse its own, and say so.
  const bare = text.replace(/<style>[^]*?<\/style>/, "");
  const root = new DOMParser().parseFromString(bare, "image/svg+xml").documentElement;
  return root.localName === "svg" && root.querySelector("rect") ? copy(root) : null;
}
