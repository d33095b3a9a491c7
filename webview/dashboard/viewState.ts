import * as v from 'valibot';

const names = v.pipe(v.array(v.string()), v.maxLength(2000));

/** View settings, saved with the panel to survive a reload. */
export const viewStateSchema = v.object({
	axis: v.fallback(v.picklist(['step', 'time']), 'step'),
	smoothing: v.fallback(v.pipe(v.number(), v.minValue(0), v.maxValue(0.99)), 0),
	filter: v.fallback(v.pipe(v.string(), v.maxLength(200)), ''),
	/** Charts whose axis differs from their metric's default. */
	logToggled: v.fallback(names, []),
	/** Lines and bands whose visibility differs from the default, as "chart line". */
	switched: v.fallback(names, []),
	/** Charts shown as tables. */
	tables: v.fallback(names, []),
	collapsed: v.fallback(names, []),
	/** The range in view on the current axis; null: everything. */
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
	/** The pinned step. */
	pinned: v.fallback(v.nullable(v.pipe(v.number(), v.finite())), null),
});
export type ViewState = v.InferOutput<typeof viewStateSchema>;

/** The view and the run folder, from which the extension restores the panel. */
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

/** Adds or removes an item. */
export function toggled(list: readonly string[], item: string, present = !list.includes(item)): string[] {
	const without = list.filter((other) => other !== item);
	return present ? [...without, item] : without;
}
