import * as v from 'valibot';

const names = v.pipe(v.array(v.string()), v.maxLength(2000));

/** What a person chose to see; kept with the panel, so that it is there again after a reload. */
export const viewStateSchema = v.object({
	axis: v.fallback(v.picklist(['step', 'time']), 'step'),
	smoothing: v.fallback(v.pipe(v.number(), v.minValue(0), v.maxValue(0.99)), 0),
	filter: v.fallback(v.pipe(v.string(), v.maxLength(200)), ''),
	/** Charts whose axis differs from what their metric asks for. */
	logToggled: v.fallback(names, []),
	/** Lines and bands that are not as they are at first, as "chart line". */
	switched: v.fallback(names, []),
	/** Charts that are shown as tables. */
	tables: v.fallback(names, []),
	collapsed: v.fallback(names, []),
	/** The part of the run in view, such as a stage, on the axis in use; null: all of it. */
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
	/** Step that is pinned in the charts. */
	pinned: v.fallback(v.nullable(v.pipe(v.number(), v.finite())), null),
});
export type ViewState = v.InferOutput<typeof viewStateSchema>;

/** Besides the view, the folder of the run: all that the host needs to bring the panel back. */
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

/** Adds or takes away. */
export function toggled(list: readonly string[], item: string, present = !list.includes(item)): string[] {
	const without = list.filter((other) => other !== item);
	return present ? [...without, item] : without;
}
