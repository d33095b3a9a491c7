import * as v from 'valibot';

const names = v.pipe(v.array(v.string()), v.maxLength(2000));

/** View settings, saved with the panel and restored after a reload. */
export const viewStateSchema = v.object({
	axis: v.fallback(v.picklist(['step', 'time']), 'step'),
	smoothing: v.fallback(v.pipe(v.number(), v.minValue(0), v.maxValue(0.99)), 0),
	filter: v.fallback(v.pipe(v.string(), v.maxLength(200)), ''),
	/** Charts whose axis type was changed from the metric's default. */
	logToggled: v.fallback(names, []),
	/** Lines and bands whose visibility was changed from the default, as "chart line". */
	switched: v.fallback(names, []),
	/** Charts shown as tables. */
	tables: v.fallback(names, []),
	/** Ids of collapsed groups; earlier versions saved the id `optimiser`. */
	collapsed: v.fallback(
		v.pipe(
			names,
			v.transform((list) => list.map((id) => (id === 'optimiser' ? 'optimizer' : id))),
		),
		[],
	),
	/** Visible range on the current axis; null if everything is visible. */
	range: v.fallback(
		v.nullable(
			v.object({
				min: v.pipe(v.number(), v.finite()),
				max: v.pipe(v.number(), v.finite()),
				following: v.boolean(),
				growing: v.boolean(),
			}),
		),
		null,
	),
	/** Pinned step; null if none is pinned. */
	pinned: v.fallback(v.nullable(v.pipe(v.number(), v.finite())), null),
});
export type ViewState = v.InferOutput<typeof viewStateSchema>;

/** View settings and run folder, from which the extension restores the panel. */
export const savedStateSchema = v.object({ runFolder: v.string(), view: viewStateSchema });
export type SavedState = v.InferOutput<typeof savedStateSchema>;

export const defaultView: ViewState = {
	axis: 'step',
	smoothing: 0,
	filter: '',
	logToggled: [],
	switched: [],
	tables: [],
	collapsed: [],
	range: null,
	pinned: null,
};

/** Returns the list with an item added or removed. */
export function toggled(list: readonly string[], item: string, present = !list.includes(item)): string[] {
	const without = list.filter((other) => other !== item);
	return present ? [...without, item] : without;
}
