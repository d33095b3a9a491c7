import { visibleText } from './trace/hiddenCharacters.ts';

export type Child = Node | string | number | null | undefined | false;

export interface Properties {
	readonly class?: string;
	readonly id?: string;
	readonly title?: string;
	readonly role?: string;
	readonly tabIndex?: number;
	readonly hidden?: boolean;
	/** ARIA attributes without the prefix: `{ label: 'Close' }` sets `aria-label`. */
	readonly aria?: Readonly<Record<string, string | number | boolean | null | undefined>>;
	readonly data?: Readonly<Record<string, string | number>>;
	readonly attributes?: Readonly<Record<string, string | number>>;
	readonly on?: { readonly [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
}

/** Attributes that could turn text into code or styles; {@link element} rejects them. */
const forbidden = /^(on|style$|srcdoc$|href$|src$)/i;

/**
 * Creates an element. String children become text nodes, so untrusted text is never parsed as HTML. Invisible
 * characters in text and labels are written out.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
	tag: K,
	properties?: Properties | null,
	...children: readonly Child[]
): HTMLElementTagNameMap[K];
export function element(tag: string, properties?: Properties | null, ...children: readonly Child[]): HTMLElement;
export function element(tag: string, properties?: Properties | null, ...children: readonly Child[]): HTMLElement {
	const node = document.createElement(tag);
	if (properties) apply(node, properties);
	append(node, children);
	return node;
}

function apply(node: HTMLElement, properties: Properties): void {
	if (properties.class !== undefined) node.className = properties.class;
	if (properties.id !== undefined) node.id = properties.id;
	if (properties.title !== undefined) setTitle(node, properties.title);
	if (properties.role !== undefined) node.setAttribute('role', properties.role);
	if (properties.tabIndex !== undefined) node.tabIndex = properties.tabIndex;
	if (properties.hidden !== undefined) node.hidden = properties.hidden;
	for (const [name, value] of Object.entries(properties.aria ?? {})) setAria(node, name, value);
	for (const [name, value] of Object.entries(properties.data ?? {})) node.dataset[name] = String(value);
	for (const [name, value] of Object.entries(properties.attributes ?? {})) {
		if (forbidden.test(name)) throw new TypeError(`The attribute "${name}" cannot be set with element().`);
		node.setAttribute(name, name === 'placeholder' ? visibleText(String(value)) : String(value));
	}
	for (const [name, listener] of Object.entries(properties.on ?? {})) {
		node.addEventListener(name, listener as EventListener);
	}
}

export function setAria(node: Element, name: string, value: string | number | boolean | null | undefined): void {
	if (value === null || value === undefined) node.removeAttribute(`aria-${name}`);
	else node.setAttribute(`aria-${name}`, visibleText(String(value)));
}

export function append(node: Node, children: readonly Child[]): void {
	for (const child of children) {
		if (child === null || child === undefined || child === false) continue;
		node.appendChild(child instanceof Node ? child : document.createTextNode(visibleText(String(child))));
	}
}

/** Replaces the children of an element. */
export function fill(node: Element, ...children: readonly Child[]): void {
	node.replaceChildren();
	append(node, children);
}

/** Sets the text only if it differs, to avoid unnecessary layout and announcements. */
export function setText(node: Node, text: string): void {
	const shown = visibleText(text);
	if (node.textContent !== shown) node.textContent = shown;
}

export function setTitle(node: HTMLElement, text: string): void {
	node.title = visibleText(text);
}

/** Creates text that is visible only to screen readers. */
export function unseen(words: string): HTMLElement {
	return element('span', { class: 'visually-hidden' }, words);
}

let lastId = 0;
/** Returns an id that is unique on the page. */
export function uniqueId(prefix: string): string {
	lastId += 1;
	return `${prefix}-${lastId}`;
}
