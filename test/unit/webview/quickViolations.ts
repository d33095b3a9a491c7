/**
 * Runs in a page: finds visible text with too little contrast and controls without a name, like axe's rules
 * `color-contrast` and `button-name`, in less than a tenth of the time. Reads backgrounds from an element's ancestors,
 * and skips text over a gradient or an image. `links` is whether the page has links, to which another rule applies.
 */
export function quickViolations(): { readonly texts: string[]; readonly names: string[]; readonly links: boolean } {
	type Color = readonly [red: number, green: number, blue: number, alpha: number];
	/** A group that is drawn on `backdrop` and then blended with it. */
	interface Group {
		readonly backdrop: Color;
		readonly opacity: number;
		readonly outer: Group | null;
	}

	const parsed = new Map<string, Color>();
	const parse = (text: string): Color => {
		const known = parsed.get(text);
		if (known) return known;
		const number = String.raw`(-?[\d.]+(?:e-?\d+)?)`;
		const rgb = new RegExp(`^rgba?\\(${number}, ${number}, ${number}(?:, ${number})?\\)$`).exec(text);
		const srgb = new RegExp(`^color\\(srgb ${number} ${number} ${number}(?: / ${number})?\\)$`).exec(text);
		const match = rgb ?? srgb;
		if (!match) throw new Error(`Unknown color: ${text}`);
		const scale = rgb ? 1 : 255;
		const [red, green, blue, alpha] = [1, 2, 3, 4].map((i) => Number(match[i] ?? 1)) as [
			number,
			number,
			number,
			number,
		];
		const color: Color = [red * scale, green * scale, blue * scale, alpha];
		parsed.set(text, color);
		return color;
	};
	const mix = (bottom: Color, top: Color, share: number): Color => [
		bottom[0] + (top[0] - bottom[0]) * share,
		bottom[1] + (top[1] - bottom[1]) * share,
		bottom[2] + (top[2] - bottom[2]) * share,
		1,
	];
	const over = (bottom: Color, top: Color): Color => mix(bottom, top, top[3]);
	const blended = (color: Color, group: Group | null): Color => {
		let result = color;
		for (let at = group; at !== null; at = at.outer) result = mix(at.backdrop, result, at.opacity);
		return result;
	};
	const luminance = (color: Color): number => {
		const [red, green, blue] = color.slice(0, 3).map((value) => {
			const part = Math.round(value) / 255;
			return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
		}) as [number, number, number];
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const ratioOf = (a: Color, b: Color): number => {
		const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
		return (high + 0.05) / (low + 0.05);
	};

	/** Whether every control labeled by the element is disabled. */
	const labelsDisabled = (element: Element): boolean => {
		for (let at: Element | null = element; at; at = at.parentElement) {
			if (at instanceof HTMLLabelElement && at.control?.matches(':disabled')) return true;
			if (at.id === '') continue;
			const root = at.getRootNode() as Document | ShadowRoot;
			const labelled = [...root.querySelectorAll(`[aria-labelledby~="${CSS.escape(at.id)}"]`)];
			if (labelled.length > 0 && labelled.every((one) => one.closest(':disabled, [aria-disabled="true"]'))) return true;
		}
		return false;
	};

	const controls =
		'button, input:not([type="hidden"]), select, textarea, a[href], [role="button"], [role="checkbox"], [role="combobox"], [role="link"], [role="menuitem"], [role="option"], [role="radio"], [role="slider"], [role="switch"], [role="tab"], [role="textbox"]';
	const named = (element: Element): boolean => {
		const root = element.getRootNode() as Document | ShadowRoot;
		const host = root instanceof ShadowRoot ? root.host : null;
		// The control inside a component is named by the component.
		if (host?.localName.startsWith('vscode-') && (host.ariaLabel || host.textContent?.trim())) return true;
		const by = (element.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => root.getElementById(id));
		const labels = [...((element as Partial<HTMLInputElement>).labels ?? [])];
		const parts = [...by, ...labels, ...(element.matches('select, textarea') ? [] : [element])];
		const texts = [
			element.getAttribute('aria-label'),
			element.getAttribute('title'),
			element.getAttribute('placeholder'),
		];
		return [...texts, ...parts.map((part) => part?.textContent)].some((text) => (text ?? '').trim() !== '');
	};

	const texts: string[] = [];
	const names: string[] = [];
	let links = false;
	const check = (
		element: Element,
		text: string,
		style: CSSStyleDeclaration,
		background: Color,
		group: Group | null,
	) => {
		const paint = element instanceof SVGElement ? style.fill : style.color;
		if (paint === 'none' || paint.startsWith('url(')) return;
		const back = blended(background, group);
		const front = blended(over(background, parse(paint)), group);
		const ratio = ratioOf(front, back);
		const size = Number.parseFloat(style.fontSize);
		const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
		// Axe cannot judge single characters, which may be decoration, or text in the color of its background.
		if (ratio > (large ? 3 : 4.5) || text.length === 1 || ratio < 1.01 || labelsDisabled(element)) return;
		const hex = (color: Color) =>
			`#${color
				.slice(0, 3)
				.map((part) => Math.round(part).toString(16).padStart(2, '0'))
				.join('')}`;
		const where = element.outerHTML.slice(0, 160);
		texts.push(`color-contrast: ${ratio.toFixed(2)} of ${hex(front)} on ${hex(back)}, ${size} px: ${where}`);
	};

	const visit = (element: Element, background: Color | null, group: Group | null): void => {
		if (element.matches(':disabled, [aria-disabled="true"], [aria-hidden="true"], [inert], script, style, option'))
			return;
		const style = getComputedStyle(element);
		if (style.display === 'none' || style.clipPath !== 'none' || style.clip !== 'auto') return;
		if (element.matches('a[href], [role="link"]')) links = true;
		if (element.matches(controls) && element.checkVisibility({ visibilityProperty: true }) && !named(element)) {
			names.push(`button-name: a control has no name: ${element.outerHTML.slice(0, 160)}`);
		}
		const opacity = Number(style.opacity);
		if (opacity === 0) return;
		const inner = opacity < 1 && background ? { backdrop: background, opacity, outer: group } : group;
		const own = parse(style.backgroundColor);
		let behind = own[3] === 1 ? own : background && over(background, own);
		if (style.backgroundImage !== 'none') behind = null;
		const slotted = element instanceof HTMLSlotElement ? element.assignedNodes({ flatten: true }) : [];
		let text = '';
		for (const child of slotted.length > 0 ? slotted : (element.shadowRoot ?? element).childNodes) {
			if (child instanceof Element) visit(child, behind, inner);
			else if (child instanceof Text) text += child.data;
		}
		if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
			text = ['hidden', 'range', 'color', 'checkbox', 'radio', 'image'].includes(element.type) ? '' : element.value;
		}
		text = text.trim();
		if (text === '' || behind === null || style.visibility !== 'visible' || !element.checkVisibility()) return;
		check(element, text, style, behind, inner);
	};
	visit(document.documentElement, [255, 255, 255, 1], null);
	return { texts, names, links };
}
