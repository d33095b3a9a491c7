export interface WheelTurn {
	/** Scroll distance, in the unit given by `mode`. */
	readonly deltaX: number;
	readonly deltaY: number;
	/** WheelEvent delta mode: 0 pixels, 1 lines, 2 pages. */
	readonly mode: number;
	readonly shift: boolean;
	/** Whether Ctrl or Cmd is pressed. A trackpad pinch is reported as a wheel event with Ctrl. */
	readonly control: boolean;
}

export type WheelAction =
	| { readonly kind: 'zoom'; readonly factor: number }
	/** Pans to the right by `pixels` CSS pixels. */
	| { readonly kind: 'pan'; readonly pixels: number };

const pixelsOf = [1, 16, 400];
/** Wheel distance in pixels that zooms by a factor of e. */
const zoomPixels = 250;

/** Returns the action for a wheel event on a chart; null lets the page scroll. */
export function wheelActionOf({ deltaX, deltaY, mode, shift, control }: WheelTurn): WheelAction | null {
	const unit = pixelsOf[mode] ?? 1;
	if (control) {
		if (deltaY === 0) return null;
		return { kind: 'zoom', factor: Math.min(2, Math.max(0.5, Math.exp((deltaY * unit) / zoomPixels))) };
	}
	if (shift && deltaX === 0) return deltaY === 0 ? null : { kind: 'pan', pixels: deltaY * unit };
	return Math.abs(deltaX) > Math.abs(deltaY) ? { kind: 'pan', pixels: deltaX * unit } : null;
}
