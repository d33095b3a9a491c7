import { basename } from 'node:path';
import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import type { ReportedRun } from '../../core/report/reportedRun.ts';
import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';
import { languageNames } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { AnyRunRecord } from '../../protocol/runRecord.ts';
import { ownFormat } from '../annotationFolder.ts';
import { diagnoseRun } from '../diagnoseRun.ts';
import type { RunContent } from '../runContent.ts';
import { readAnnotation, readResolvedRecipe } from '../runReader.ts';
import { runStateOf } from '../runStatus.ts';
import { templateTags } from '../runTags.ts';
import { readChosenRollouts } from './readChosenRollouts.ts';
import { readReportedEvaluations } from './readReportedEvaluations.ts';
import { readReportedSearches } from './readReportedSearches.ts';
import { readReportedStages } from './readReportedStages.ts';

export interface ReadReportOptions {
	readonly signal?: AbortSignalLike;
	/** Replaces the run's name with the name of its stage. */
	readonly title?: string;
	/** Required language for thinking, if the run's own recipe does not set one. */
	readonly language?: LanguageName | null;
}

/**
 * Reads the report data for a run from any trainer, in bounded memory regardless of length. Anything unreadable is
 * listed in `gaps`. Fails with `cancelled`, and with the same errors as `content.record` if the folder does not
 * identify its run.
 */
export async function readReportedRun(content: RunContent, options: ReadReportOptions = {}): Promise<ReportedRun> {
	const { signal } = options;
	const { record, status } = await runStateOf(() => content.record());
	const gaps: string[] = [];
	/** Reads a section whose failure does not affect the others. */
	const part = async <T>(what: string, read: Promise<T>, none: T): Promise<T> =>
		read.catch((error: unknown) => {
			const failure = Failure.from(error);
			if (failure.reason === 'cancelled') throw failure;
			gaps.push(`${what}: ${failure.message}`);
			return none;
		});
	const own = content.format === ownFormat;
	const recipe = own ? await part('The recipe', readResolvedRecipe(content.folder), undefined) : undefined;
	const person = await part('Name and note', readAnnotation(content.folder), { format: 1 as const });
	const tags = await templateTags(content);
	const language = languageOf(recipe) ?? options.language ?? null;
	const context = { content, tags, language, recipe, ...(signal === undefined ? {} : { signal }) };
	const stages = await part('Metrics and evaluations', readReportedStages(context), []);
	const rollouts = await part('Rollouts', readChosenRollouts(context), []);
	const evaluations = own ? await part('Checkpoint evaluations', readReportedEvaluations(context), []) : [];
	const searches = own ? await part('Searches', readReportedSearches(content.folder, signal), []) : [];
	const diagnosis = await part('Diagnosis', diagnoseRun(content, signal === undefined ? {} : { signal }), null);
	for (const { file, line, message, records } of content.faults.slice(0, 20)) {
		gaps.push(
			`${file}${line === null ? '' : `, line ${line}`}: ${message}${records > 1 ? ` (${formatCounted(records, 'record')})` : ''}`,
		);
	}
	return {
		title: options.title ?? person.name ?? record.name,
		id: record.id,
		engine: record.foreign?.title ?? record.engine,
		foreign: record.foreign !== undefined,
		status,
		error: record.error === undefined ? null : record.error.message,
		created: record.created,
		updated: record.updated,
		step: record.step,
		totalSteps: record.totalSteps,
		device: record.device,
		// Reports are shared, so they must not reveal where a run is stored.
		parent:
			record.parent === null
				? null
				: { run: lastPart(record.parent.run), checkpoint: lastPart(record.parent.checkpoint) },
		tags: person.tags ?? [],
		note: person.note ?? null,
		environment: environmentOf(record),
		recipe,
		...{ stages, evaluations, rollouts, searches, diagnosis },
		gaps: [...(record.foreign?.notes ?? []), ...gaps],
	};
}

const lastPart = (path: string) => basename(path.replaceAll('\\', '/'));

function environmentOf({ versions, seeds, hashes, device }: AnyRunRecord): (readonly [string, string])[] {
	return [
		['device', device],
		...Object.entries(versions).map(([name, version]) => [`${name} version`, version] as const),
		...Object.entries(seeds).map(([name, seed]) => [`seed: ${name}`, String(seed)] as const),
		...Object.entries(hashes).map(([name, hash]) => [`SHA-256 of ${name}`, hash] as const),
	]
		.filter(([, value]) => value !== '')
		.slice(0, 200) as (readonly [string, string])[];
}

/** Returns the language that a recipe rewards. */
export function languageOf(recipe: unknown): LanguageName | null {
	const rewards = (recipe as { rewards?: unknown } | null | undefined)?.rewards;
	if (!Array.isArray(rewards)) return null;
	for (const reward of rewards) {
		const { use, language } = (reward ?? {}) as { use?: unknown; language?: unknown };
		if (use === 'language-consistency') return languageNames.find((name) => name === (language ?? 'en')) ?? null;
	}
	return null;
}
