export interface WheelTurn {
	/** In the unit of `mode`. */
	readonly deltaX: number;
	readonly deltaY: number;
	/** As of WheelEvent: 0 pixels, 1 lines, 2 pages. */
	readonly mode: number;
	readonly shift: boolean;
	/** Control or command; a pinch on a trackpad comes as a wheel with control. */
	readonly control: boolean;
}

export type WheelAction =
	| { readonly kind: 'zoom'; readonly factor: number }
	/** To the right by these CSS pixels. */
	| { readonly kind: 'pan'; readonly pixels: number };

const pixelsOf = [1, 16, 400];
/** Pixels of the wheel for a zoom by e. */
const zoomPixels = 250;

/** What the wheel does on a chart; null: the page scrolls. */
export function wheelActionOf({ deltaX, deltaY, mode, shift, control }: WheelTurn): WheelAction | null {
	const unit = pixelsOf[mode] ?? 1;
	if (control) {
		if (deltaY === 0) return null;
		return { kind: 'zoom', factor: Math.min(2, Math.max(0.5, Math.exp((deltaY * unit) / zoomPixels))) };
	}
	if (shift && deltaX === 0) return deltaY === 0 ? null : { kind: 'pan', pixels: deltaY * unit };
	return Math.abs(deltaX) > Math.abs(deltaY) ? { kind: 'pan', pixels: deltaX * unit } : null;
}
