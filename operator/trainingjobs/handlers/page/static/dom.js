// Elements made of text alone. Nothing that came from a cluster is ever read as HTML: there is no
// other way from a value to the screen than `clean` and a text node.

const SVG = "http://www.w3.org/2000/svg";
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** The text in one line, without what turns the direction of writing, moves a cursor or is not seen. */
export function clean(value) {
  return String(value ?? "").replace(/[\t\n\r]/g, " ").replace(UNSEEN, "\uFFFD");
}

/** The same for words of several lines. */
export function lines(value) {
  return String(value ?? "").split(/\r\n|\n|\r/).map((line) => clean(line)).join("\n");
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : clean(value));
  }
  node.append(...nodes(children));
  return node;
}

function nodes(children) {
  return children.flat(2).filter((it) => it !== null && it !== undefined && it !== false)
    .map((it) => (it instanceof Node ? it : clean(it)));
}

/** An element. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a picture. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Words of several lines, as they are. */
export function words(value) {
  const node = h("pre", { tabindex: "0" });
  node.textContent = lines(value);
  return node;
}

/** Give a node this text; one that has it is left alone, and so are those who select in it. */
export function say(node, value) {
  const text = clean(value);
  if (node.textContent !== text) node.textContent = text;
  return node;
}

/** Put these in place of what a node has. */
export function put(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

/** Put these in place of what a node has, if what they are made of has changed. */
export function putIfNew(node, made, children) {
  const mark = JSON.stringify(made);
  if (node.mark !== mark) {
    node.mark = mark;
    put(node, ...children());
  }
  return node;
}
