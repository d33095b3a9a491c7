import type { FolderView } from '../folderView.ts';
import { messagesOf } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	parsedJson,
	scoreOf,
	textOf,
} from '../foreignValues.ts';
import type { RunEvidence, RunFacts, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';

/*
 * Sample logs of lm-evaluation-harness (lm_eval/loggers/evaluation_tracker.py, --log_samples): samples_{task}_{time}.jsonl
 * with one row per document and filter, next to results_{time}.json.
 */

const samples = 'samples_{rest}.jsonl';
const results = 'results_{rest}.json';
const maxFiles = 500;
/** Rows to check for filters; rows for one document are adjacent or in blocks, depending on the version. */
const rowsForFilters = 200;

interface Learned {
	/** Filters by file, in order of appearance. */
	readonly filters: Readonly<Record<string, readonly string[]>>;
}

interface Answer {
	readonly prompt: ForeignRollout['prompt'];
	readonly completion: string;
	readonly extra: Fields;
}

/** Returns a row's requests: a context with a continuation or with generation settings. */
function requestsOf(row: Fields): (readonly unknown[])[] {
	const given = Array.isArray(row.arguments) ? row.arguments : Object.values(fieldsOf(row.arguments) ?? {});
	return given.map((request: unknown) => (Array.isArray(request) ? request : Object.values(fieldsOf(request) ?? {})));
}

/** If the server applies the chat template, the context is the JSON text of a list of messages. */
function contextOf(value: unknown): ForeignRollout['prompt'] {
	const text = textOf(value) ?? '';
	return (text.startsWith('[{') ? messagesOf(parsedJson(text)) : null) ?? text;
}

/** Returns the model's answer: generated text, or the choice with the largest log-likelihood. */
function answerOf(row: Fields): Answer | null {
	const requests = requestsOf(row);
	const [first] = requests;
	if (first === undefined) return null;
	const prompt = contextOf(first[0]);
	const responses = listOf(row.resps).map(listOf);
	const continuation = textOf(first[1]);
	if (continuation === null) {
		const [text, ...others] = (responses[0] ?? []).map(textOf);
		// A rolling log-likelihood has no answer; its text is the context.
		const isNumber = text !== undefined && text !== null && first.length < 2;
		return { prompt, completion: isNumber ? '' : (text ?? ''), extra: { others } };
	}
	const choices = requests.map((request, i) => ({
		text: textOf(request[1]) ?? '',
		logLikelihood: likelihoodOf(responses[i]?.[0]),
	}));
	const best = Math.max(...choices.map(({ logLikelihood }) => logLikelihood ?? Number.NEGATIVE_INFINITY));
	const chosen = choices.find(({ logLikelihood }) => logLikelihood === best);
	return { prompt, completion: chosen?.text ?? '', extra: { choices } };
}

/** Reads a response to a log-likelihood request: the value as text, and whether it is the greedy continuation. */
function likelihoodOf(response: unknown): number | null {
	const [value] = Array.isArray(response) ? response : [response];
	const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
	return numberOf(number);
}

function sampleOf(record: unknown, file: string, filters: readonly string[]): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const id = integerOf(row.doc_id) ?? textOf(row.doc_id);
	if (id === null) return 'has no doc_id';
	const filter = textOf(row.filter);
	if (filter !== null && filters.length > 0 && filter !== filters[0]) return [];
	const answer = answerOf(row);
	if (answer === null) return 'has no arguments';
	const names = listOf(row.metrics).flatMap((name) => (name === '__proto__' ? [] : (textOf(name) ?? [])));
	const scores = names.map((name) => scoreOf(row[name]));
	return [
		{
			groupKey: `${file} ${id}`,
			prompt: answer.prompt,
			completion: answer.completion,
			reward: scores[0] ?? null,
			rewards: Object.fromEntries(names.map((name, i) => [name, scores[i] ?? null])),
			row: id,
			...given('answer', boundedValue(row.target ?? null)),
			...given('extra', extraOf({ task: taskOf(file), filter, filtered: row.filtered_resps, ...answer.extra })),
		},
	];
}

/** Returns the task in a file's name, which ends with the time of the evaluation. */
function taskOf(file: string): string {
	return file.replace(/^samples_/, '').replace(/(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl$/, '');
}

async function learn(folder: FolderView, evidence: RunEvidence): Promise<Learned> {
	const filters: Record<string, string[]> = {};
	for (const { path } of (await folder.find(samples)).slice(0, maxFiles)) {
		const rows = await evidence.records(path, { form: 'jsonl' }, rowsForFilters);
		filters[path] = [...new Set(rows.flatMap((row) => textOf(fieldsOf(row)?.filter) ?? []))];
	}
	return { filters };
}

async function describe(folder: FolderView, learned: unknown): Promise<RunFacts> {
	const [newest] = [...(await folder.find(results))].reverse();
	const summary = newest === undefined ? null : fieldsOf(await folder.json(newest.path));
	const notes: string[] = [];
	for (const [file, filters] of Object.entries((learned as Learned | undefined)?.filters ?? {})) {
		if (filters.length < 2) continue;
		notes.push(
			`Answers to ${taskOf(file)} were scored with ${filters.join(' and ')}; scores for ${filters[0]} are shown.`,
		);
	}
	for (const [task, values] of Object.entries(fieldsOf(summary?.results) ?? {}).slice(0, 20)) {
		const means = Object.entries(fieldsOf(values) ?? {}).flatMap(([name, value]) =>
			typeof value === 'number' && name.includes(',') && !name.includes('stderr') ? [`${name} ${value}`] : [],
		);
		if (means.length > 0) notes.push(`lm-evaluation-harness's result for ${task}: ${means.join('; ')}.`);
	}
	const facts = { model: summary?.model_name ?? fieldsOf(summary?.config)?.model, lm_eval: summary?.lm_eval_version };
	const versions = Object.entries(facts).flatMap(([name, value]) => (textOf(value) ? [[name, String(value)]] : []));
	const created = numberOf(summary?.date);
	const seconds = Number.parseFloat(textOf(summary?.total_evaluation_time_seconds) ?? '');
	return {
		versions: Object.fromEntries(versions),
		notes,
		...(created === null ? {} : { created }),
		...(created === null || !(seconds >= 0) ? {} : { ended: created + seconds }),
	};
}

export const lmEval: RunFormat = {
	name: 'lm-eval',
	title: 'lm-evaluation-harness',
	looksFor: 'samples_{task}_{time}.jsonl with doc_id and resps in its rows (--log_samples)',
	hasSteps: false,
	rollouts: [
		{
			pattern: samples,
			form: 'jsonl',
			split: 'train',
			rollouts: (record, { file, learned }) =>
				sampleOf(record, file, (learned as Learned | undefined)?.filters[file] ?? []),
		},
	],
	metrics: [],
	notes: [
		'Each document is one rollout and one group. If answers were scored with several filters, only the scores from the first one are shown.',
		'The reward is the first metric of the task. Metrics that are not numbers, such as the parts of a perplexity, are null.',
		'For multiple choice, the completion is the choice with the largest log-likelihood.',
	],
	async recognize(folder) {
		for (const { path } of await folder.some(samples, 3)) {
			const keys = topKeys((await folder.head(path)) ?? '');
			if (keys.has('doc_id') && keys.has('resps')) return true;
		}
		return false;
	},
	learn,
	describe,
};
