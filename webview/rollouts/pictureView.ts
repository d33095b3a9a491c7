import type { IDisposable } from '../../src/base/disposable.ts';
import { formatNumber, formatPercent } from '../../src/base/format.ts';
import type { DrawnBox } from '../../src/protocol/rolloutPicture.ts';
import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { GroupPicture } from './cardContext.ts';

/** A picture with boxes on it. The extension has checked its type and size, and clipped the boxes. */
export class PictureView implements IDisposable {
	readonly element: HTMLElement;
	readonly #stage = element('div', { class: 'picture-stage' });
	#url: string | null = null;
	#disposed = false;

	/** @param label description for screen readers */
	constructor(label: string, picture: GroupPicture, boxes: readonly DrawnBox[]) {
		this.#stage.style.aspectRatio = `${picture.width} / ${picture.height}`;
		const summary = element('figcaption', { class: 'quiet' }, boxesText(boxes));
		this.element = element('figure', { class: 'picture', aria: { label } }, this.#stage, summary);
		void this.#draw(label, picture, boxes).catch((error: unknown) => {
			if (this.#disposed) return;
			this.#stage.style.aspectRatio = '';
			fill(this.#stage, element('p', { class: 'quiet', role: 'alert' }, String(error)));
			setText(summary, '');
		});
	}

	dispose(): void {
		this.#disposed = true;
		if (this.#url !== null) URL.revokeObjectURL(this.#url);
		this.#url = null;
		this.element.remove();
	}

	async #draw(label: string, picture: GroupPicture, boxes: readonly DrawnBox[]): Promise<void> {
		const { type, content } = await picture.load();
		if (this.#disposed) return;
		const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
		this.#url = URL.createObjectURL(new Blob([bytes], { type }));
		const image = element('img', { attributes: { alt: label, draggable: 'false' } });
		image.src = this.#url;
		fill(this.#stage, image, ...boxes.map(boxElement));
	}
}

/** Returns the picture of a completion's prompt with the completion's boxes, or null if there is none. */
export function pictureOf({ index, boxes }: RolloutDetail, picture: GroupPicture | null): PictureView | null {
	if (picture === null) return null;
	return new PictureView(`Picture with the boxes from completion ${index}`, picture, boxes ?? []);
}

function boxElement({ kind, left, top, width, height, label, confidence, iou }: DrawnBox): HTMLElement {
	const words = [
		names[kind],
		label === null ? null : plainLabel(label),
		iou === null ? null : `IoU ${formatNumber(iou, 2)}`,
		confidence === null ? null : `confidence ${formatPercent(confidence, 0)}`,
	].filter((word) => word !== null);
	const box = element('div', { class: `picture-box ${kind}`, title: words.join(', ') });
	const { style } = box;
	for (const [name, fraction] of Object.entries({ left, top, width, height })) {
		style.setProperty(name, `${100 * fraction}%`);
	}
	return box;
}

const names = { gold: 'Expected', matched: 'Matched', unmatched: 'Not matched' } as const;

/** Describes the boxes in one line: "2 expected, 1 matched (mean IoU 0.8), 1 not matched". */
export function boxesText(boxes: readonly DrawnBox[]): string {
	const of = (kind: DrawnBox['kind']) => boxes.filter((box) => box.kind === kind);
	const matched = of('matched');
	const mean = matched.reduce((sum, { iou }) => sum + (iou as number), 0) / matched.length;
	return [
		[of('gold').length, 'expected'],
		[matched.length, `matched${matched.length === 0 ? '' : ` (mean IoU ${formatNumber(mean, 2)})`}`],
		[of('unmatched').length, 'not matched'],
	]
		.filter(([count]) => boxes.length > 0 && count !== 0)
		.map(([count, words]) => `${count} ${words}`)
		.join(', ');
}
