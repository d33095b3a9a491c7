import type { Place } from '../../src/protocol/rolloutsMessages.ts';

export const placeKey = ({ split, step, group, index }: Place): string => `${split}/${step}/${group}/${index}`;

export const samePlace = (a: Place | null, b: Place | null): boolean =>
	a !== null && b !== null && placeKey(a) === placeKey(b);

/** Maximum number of selected completions. */
export const maxChosen = 10_000;

/** Completions selected in any step, in selection order. Immutable. */
export class Chosen {
	readonly #places: ReadonlyMap<string, Place>;

	private constructor(places: ReadonlyMap<string, Place>) {
		this.#places = places;
	}

	static readonly none = new Chosen(new Map());

	get size(): number {
		return this.#places.size;
	}

	get list(): Place[] {
		return [...this.#places.values()];
	}

	has(place: Place): boolean {
		return this.#places.has(placeKey(place));
	}

	/** Returns the selection with a completion added or, if it is already selected, removed. */
	toggled(place: Place): Chosen {
		const places = new Map(this.#places);
		const key = placeKey(place);
		if (!places.delete(key) && places.size < maxChosen) places.set(key, place);
		return new Chosen(places);
	}
}

interface Rated {
	readonly index: number;
	readonly reward: number | null;
}

/**
 * Returns the two completions to open for comparison: the last two selected. If fewer are selected, returns the
 * selected or current completion and the one in its group whose reward differs the most.
 */
export function pairToCompare(
	chosen: readonly Place[],
	open: Place | null,
	rollouts: readonly Rated[],
): readonly [Place | null, Place | null] {
	const last = chosen.at(-1) ?? open;
	if (chosen.length >= 2) return [chosen.at(-2) ?? null, last];
	if (last === null) return [null, null];
	if (open === null || last.step !== open.step || last.group !== open.group || last.split !== open.split) {
		return open !== null && !samePlace(open, last) ? [last, open] : [last, null];
	}
	const own = rollouts.find(({ index }) => index === last.index)?.reward ?? 0;
	const others = rollouts.filter(({ index }) => index !== last.index);
	const distance = ({ reward }: Rated) => (reward === null ? -1 : Math.abs(reward - own));
	const other = others.reduce<Rated | null>(
		(best, one) => (best === null || distance(one) > distance(best) ? one : best),
		null,
	);
	return [last, other === null ? null : { ...last, index: other.index }];
}
