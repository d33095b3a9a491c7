import type { FolderView } from '../folderView.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import { fieldsOf, listOf, numberOf, secondsOf, textOf } from '../foreignValues.ts';
import type { RolloutFiles, RunEvidence, RunFacts, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { inspectSample, inspectSummary } from './inspectSample.ts';

/*
 * Logs from Inspect (inspect_ai/log/_recorders): one file per evaluation. `.eval` is a zip archive of
 * samples/{id}_epoch_{n}.json with header.json (_journal/start.json until the evaluation has finished); `.json`
 * contains the same in one object.
 */

const archives = '{name}.eval';
const texts = '{name}.json';
/** Number of logs whose headers are read to describe the run. */
const describedLogs = 20;

/** Contents of a log's header. */
interface LogHeader {
	readonly task: string | null;
	readonly model: string | null;
	readonly version: string | null;
	readonly created: number | null;
	readonly ended: number | null;
	/** Means that Inspect computed, such as "match accuracy 0.8". */
	readonly results: readonly string[];
	readonly status: string | null;
}

interface Learned {
	readonly logs: number;
	/** Paths of the JSON logs. The same folder can contain other JSON files. */
	readonly plain: readonly string[];
	readonly headers: readonly LogHeader[];
}

function headerOf(record: unknown): LogHeader {
	const header = fieldsOf(record);
	const spec = fieldsOf(header?.eval);
	const scores = listOf(fieldsOf(header?.results)?.scores).map(fieldsOf);
	const results = scores.flatMap((score) =>
		Object.entries(fieldsOf(score?.metrics) ?? {}).flatMap(([name, metric]) => {
			const value = numberOf(fieldsOf(metric)?.value);
			return value === null || name === 'stderr' ? [] : [`${textOf(score?.name) ?? 'score'} ${name} ${value}`];
		}),
	);
	return {
		task: textOf(spec?.task),
		model: textOf(spec?.model),
		version: textOf(fieldsOf(spec?.packages)?.inspect_ai),
		created: secondsOf(spec?.created),
		ended: secondsOf(fieldsOf(header?.stats)?.completed_at),
		results: results.slice(0, 5),
		status: textOf(header?.status),
	};
}

/** Inspect's file names start with a timestamp. A file with such a name is reported if it is damaged. */
const ownName = /^\d{4}-\d\d-\d\dT[\d+-]+_.+\.json$/;

async function isJsonLog(folder: FolderView, path: string): Promise<boolean> {
	const keys = topKeys((await folder.head(path, 16 << 10)) ?? '');
	return keys.has('version') && keys.has('status') && keys.has('eval');
}

async function learn(folder: FolderView, evidence: RunEvidence): Promise<Learned> {
	const packed = await folder.find(archives);
	const plain: string[] = [];
	for (const { path } of await folder.find(texts)) {
		if (ownName.test(path) || (await isJsonLog(folder, path))) plain.push(path);
	}
	const headers: LogHeader[] = [];
	for (const { path } of packed.slice(0, describedLogs)) {
		const [header] = await evidence.records(path, { form: 'zip', members: 'header.json' }, 1);
		const [start] = header === undefined ? await evidence.records(path, started, 1) : [header];
		headers.push({ ...headerOf(start), ...(header === undefined && start !== undefined ? { status: 'started' } : {}) });
	}
	// JSON logs are read whole, or up to their first sample, so only a few are read.
	for (const path of plain.slice(0, Math.min(3, describedLogs - headers.length))) {
		const [record] = await evidence.records(path, textLog, 1);
		headers.push(headerOf(record));
	}
	return { logs: packed.length + plain.length, plain, headers };
}

/** Samples of a large log are read one at a time. */
const textLog = {
	form: 'json',
	inParts: { list: 'samples', beside: ['version', 'status', 'eval', 'results', 'stats'] },
} as const;

const started = { form: 'zip', members: '_journal/start.json' } as const;

const several = (learned: unknown) => ((learned as Learned | undefined)?.logs ?? 0) > 1;

/** Part of a log that is reported instead of shown. */
const unreadable = (fault: string): ForeignRollout => ({
	prompt: '',
	completion: '',
	reward: null,
	groupKey: '',
	fault,
});

const rollouts: readonly RolloutFiles[] = [
	{
		pattern: archives,
		form: 'zip',
		members: 'samples/{sample}.json',
		split: 'train',
		summaries: { member: 'summaries.json', rollout: inspectSummary },
		rollouts: (record, { file, learned }) => inspectSample(record, file, several(learned)),
	},
	{
		pattern: texts,
		...textLog,
		split: 'train',
		holds: (path, learned) => (learned as Learned | undefined)?.plain.includes(path) !== false,
		rollouts(record, { file, learned, record: first }) {
			const log = fieldsOf(record);
			if (!log || !Array.isArray(log.samples)) return 'has no samples';
			return log.samples.flatMap((sample, i) => {
				const read = inspectSample(sample, file, several(learned));
				return typeof read === 'string' ? [unreadable(`sample ${first + i + 1} ${read}`)] : read;
			});
		},
	},
];

/** Returns the combined state of the logs; a log that failed, was canceled or has not ended takes precedence. */
function stateOf(headers: readonly LogHeader[]): Pick<RunFacts, 'status' | 'open'> {
	const statuses = headers.map(({ status }) => status);
	if (statuses.includes('started')) return { open: true };
	if (statuses.includes('error')) return { status: 'crashed' };
	if (statuses.includes('cancelled')) return { status: 'stopped' };
	return statuses.every((status) => status === 'success') ? { status: 'finished' } : {};
}

function described({ logs, headers }: Learned): RunFacts {
	const versions: Record<string, string> = {};
	for (const [name, key] of [
		['task', 'task'],
		['model', 'model'],
		['inspect_ai', 'version'],
	] as const) {
		const values = [...new Set(headers.flatMap((header) => header[key] ?? []))];
		if (values.length > 0) versions[name] = values.join(', ');
	}
	const created = headers.flatMap((header) => header.created ?? []);
	const ended = headers.flatMap((header) => header.ended ?? []);
	const notes = headers.flatMap(({ task, model, results, status }) => {
		const of = [task ?? 'a task', ...(model === null ? [] : [`(${model})`])].join(' ');
		if (results.length > 0) return [`Inspect's result for ${of}: ${results.join(', ')}.`];
		return [`Inspect recorded no result for ${of}: its status is ${status ?? 'unknown'}.`];
	});
	if (logs > headers.length) notes.push(`The folder contains ${logs} logs; results for ${headers.length} are shown.`);
	return {
		versions,
		notes,
		...stateOf(headers),
		...(created.length === 0 ? {} : { created: Math.min(...created) }),
		...(ended.length === 0 || ended.length < logs ? {} : { ended: Math.max(...ended) }),
	};
}

export const inspect: RunFormat = {
	name: 'inspect',
	title: 'Inspect',
	looksFor: 'Inspect logs: .eval files, or .json files with version, status and eval',
	hasSteps: false,
	rollouts,
	metrics: [],
	notes: [
		'Each epoch of a sample is a rollout; the epochs of one sample form a group.',
		'The reward is the value of the first scorer: C counts as 1, P as 0.5, I and N as 0, and values that are not numbers as null.',
		'Samples larger than 64 MiB are skipped.',
		'The samples of .eval files larger than 64 MiB are listed from their summaries, which record truncation only if a limit caused it.',
	],
	async recognize(folder) {
		for (const { path } of await folder.some(archives, 3)) {
			if ((await folder.head(path, 4))?.startsWith('PK')) return true;
		}
		for (const { path } of await folder.some(texts, 3)) if (await isJsonLog(folder, path)) return true;
		return false;
	},
	learn,
	describe: async (_, learned) => (learned === undefined ? {} : described(learned as Learned)),
};
