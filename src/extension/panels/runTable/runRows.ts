import { flattenRecipe } from '../../../core/runTable/flattenRecipe.ts';
import type { RunTableRow } from '../../../protocol/runTableMessages.ts';
import { engineTitles } from '../../../runs/engineFacts.ts';
import { readMetricsEnd, readResolvedRecipe } from '../../../runs/runReader.ts';
import { displayText, isForeign, nameOf, projectOf, type RunView } from '../../runView.ts';

/** Parts of a row read from files. */
export interface ReadRow {
	readonly recipe: RunTableRow['recipe'];
	readonly metrics: RunTableRow['metrics'];
}

/** Number of bytes read from the end of the metrics, enough for the latest evaluation of most runs. */
const tailBytes = 64 << 10;
const maxMetrics = 200;

/** Returns a row with data from the run list, without reading files. */
export function rowOf(view: RunView, own: boolean, read: ReadRow | null): RunTableRow {
	const { record, annotation, accuracy, reward } = view;
	const known = {
		...(isKnown(accuracy) ? { 'eval/heldout/accuracy': accuracy } : {}),
		...(isKnown(reward) ? { reward } : {}),
	};
	return {
		folder: view.folder,
		name: nameOf(view),
		project: projectOf(view.folder),
		own,
		status: view.status,
		engine: displayText(engineOf(view), 80),
		step: record?.step ?? null,
		created: record?.created ?? null,
		tags: (annotation?.tags ?? []).slice(0, 50).map((tag) => displayText(tag, 80)),
		metrics: read === null || Object.keys(read.metrics).length === 0 ? known : { ...known, ...read.metrics },
		recipe: read?.recipe ?? {},
	};
}

/** Returns whether a value is known. Messages with NaN or infinities would be rejected as a whole. */
const isKnown = (value: number | null): value is number => value !== null && Number.isFinite(value);

function engineOf({ record }: RunView): string {
	if (record?.foreign) return record.foreign.title;
	return record === null || record.engine === 'foreign' ? '' : engineTitles[record.engine];
}

/** Reads the recipe and the latest value of each metric. Never fails; omits what cannot be read. */
export async function readRow(view: RunView): Promise<ReadRow> {
	if (isForeign(view)) return { recipe: {}, metrics: {} };
	const [recipe, lines] = await Promise.all([
		readResolvedRecipe(view.folder).catch(() => null),
		readMetricsEnd(view.folder, tailBytes).catch(() => []),
	]);
	const metrics = new Map<string, number>();
	for (const { values } of lines.toReversed()) {
		for (const [name, value] of Object.entries(values)) {
			if (typeof value === 'number' && !metrics.has(name) && metrics.size < maxMetrics) metrics.set(name, value);
		}
	}
	return { recipe: flattenRecipe(recipe), metrics: Object.fromEntries(metrics) };
}
