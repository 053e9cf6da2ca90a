// Elements from values. Text becomes text nodes, never markup: what a user wrote is only shown.

/** Make an element; attributes that are null or false are left out, children may be strings. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const find = (id) => document.getElementById(id);

/** Words for those who hear the page. */
export const hidden = (text) => make("span", { class: "hidden" }, text);
