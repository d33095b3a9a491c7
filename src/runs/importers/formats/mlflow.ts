import type { FolderView } from '../folderView.ts';
import { textOrMessages } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import {
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	parsedJson,
	textOf,
} from '../foreignValues.ts';
import type { RunEvidence, RunFacts, RunFormat } from '../runFormat.ts';
import { conversationOf } from './loggedTraces.ts';

/*
 * MLflow's tracking database (mlflow/store/tracking/dbmodels/models.py), mlflow.db by default since MLflow 3. It contains
 * all runs of all experiments: `metrics` has one row per value, `spans` one row per span of a trace.
 */

const databases = ['mlflow.db', '{name}.sqlite'];
const maxRuns = 1000;

/** Statuses of runs that have ended. */
const statuses: Readonly<Record<string, NonNullable<RunFacts['status']>>> = {
	FINISHED: 'finished',
	FAILED: 'crashed',
	KILLED: 'stopped',
};

interface Run {
	readonly id: string;
	readonly name: string;
	readonly status: string;
	/** Seconds since the epoch. */
	readonly started: number | null;
	readonly ended: number | null;
}

/** Values from the run that logged last keep their names; names from other runs start with the run's id. */
function metricsOf(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	const step = integerOf(row?.step);
	const key = textOf(row?.key);
	if (!row || step === null) return 'has no step';
	if (key === null) return 'has no key';
	// System metrics are numbered by sample.
	if (key.startsWith('system/')) return [];
	const name = row.run_uuid === row.newest ? key : `${(textOf(row.run_uuid) ?? '').slice(0, 8)}/${key}`;
	const value = row.is_nan === 1 ? null : numberOf(row.value);
	const time = numberOf(row.timestamp);
	return [{ step, time: time === null ? null : time / 1000, values: { [name]: value } }];
}

/** A trace is represented by its root span, whose inputs and outputs are those of the whole conversation. */
function spanOf(record: unknown): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	if (row.parent_span_id !== null) return [];
	const content = fieldsOf(parsedJson(row.content));
	if (!content || fieldsOf(content.attributes) === null) return 'has no content';
	return [
		mlflowTrace(content, {
			trace: row.trace_id,
			name: row.name,
			seconds: seconds(row.duration_ns),
			failed: row.status === 'ERROR',
		}),
	];
}

interface SpanFacts {
	readonly trace: unknown;
	readonly name: unknown;
	readonly seconds: number | null;
	readonly failed: boolean;
}

/** Returns the rollout of a root span, whose inputs and outputs are those of the whole conversation. */
export function mlflowTrace(content: Fields, { trace, name, seconds: duration, failed }: SpanFacts): ForeignRollout {
	const attributes = fieldsOf(content.attributes);
	const inputs = parsedJson(attributes?.['mlflow.spanInputs']);
	const outputs = parsedJson(attributes?.['mlflow.spanOutputs']);
	const { prompt, completion } = conversationIn(inputs, outputs);
	const error = failed ? (messageOf(content) ?? 'the span failed') : null;
	return {
		groupKey: JSON.stringify(prompt),
		step: null,
		prompt,
		completion,
		reward: null,
		extra: extraOf({ trace, span: name, seconds: duration, error }) ?? {},
	};
}

/** Returns the message of the exception that ended a span. */
function messageOf(content: Fields | null): string | null {
	const events = listOf(content?.events).map(fieldsOf);
	return textOf(fieldsOf(events.find((event) => event?.name === 'exception')?.attributes)?.['exception.message']);
}

const seconds = (nanoseconds: unknown) => {
	const value = numberOf(nanoseconds);
	return value === null ? null : value / 1e9;
};

/** Finds messages in the inputs and outputs of a chat model, or else returns both as text. */
function conversationIn(inputs: unknown, outputs: unknown): Pick<ForeignRollout, 'prompt' | 'completion'> {
	const given = conversationOf(fieldsOf(inputs)?.messages ?? inputs);
	const choice = fieldsOf(listOf(fieldsOf(outputs)?.choices)[0]);
	const answered = conversationOf(
		choice ? [choice.message] : (fieldsOf(outputs)?.messages ?? (Array.isArray(outputs) ? outputs : [outputs])),
	);
	const all = answered === null ? null : [...answered.prompt, ...(answered.completion || [])];
	return {
		prompt: given === null ? asText(inputs) : [...given.prompt, ...(given.completion || [])],
		completion: all ?? asText(outputs),
	};
}

const asText = (value: unknown) =>
	textOrMessages(value) ?? (value === undefined ? '' : JSON.stringify(value, null, '\t'));

function runsOf(records: readonly unknown[]): Run[] {
	return records.map(fieldsOf).flatMap((row: Fields | null) => {
		const id = textOf(row?.run_uuid);
		if (!row || id === null) return [];
		const [started, ended] = [numberOf(row.start_time), numberOf(row.end_time)];
		return [
			{
				id,
				name: textOf(row.name) || id,
				status: textOf(row.status) ?? 'unknown',
				started: started === null ? null : started / 1000,
				ended: ended === null ? null : ended / 1000,
			},
		];
	});
}

async function learn(folder: FolderView, evidence: RunEvidence): Promise<RunFacts> {
	const runs: Run[] = [];
	for (const pattern of databases) {
		for (const { path } of await folder.find(pattern)) {
			runs.push(...runsOf(await evidence.records(path, { form: 'sqlite', table: 'runs' }, maxRuns)));
		}
	}
	runs.sort((a, b) => (b.started ?? 0) - (a.started ?? 0));
	const [newest] = runs;
	if (newest === undefined) return {};
	const listed = runs
		.slice(0, 20)
		.map(({ id, name, status }) => `${name} (${id.slice(0, 8)}, ${status.toLowerCase()})`);
	return {
		versions: { run: newest.name },
		...(newest.started === null ? {} : { created: newest.started }),
		...(newest.ended === null ? {} : { ended: newest.ended }),
		...given('status', statuses[newest.status]),
		open: newest.status === 'RUNNING',
		notes: [`The database contains ${runs.length} ${runs.length === 1 ? 'run' : 'runs'}: ${listed.join(', ')}.`],
	};
}

async function isStore(folder: FolderView, path: string): Promise<boolean> {
	const tables = await folder.tables(path);
	return tables.has('experiments') && tables.get('metrics')?.includes('run_uuid') === true;
}

export const mlflow: RunFormat = {
	name: 'mlflow',
	title: 'MLflow',
	looksFor: 'mlflow.db',
	hasSteps: true,
	rolloutsHaveSteps: false,
	tracker: true,
	rollouts: databases.map((pattern) => ({ pattern, form: 'sqlite', table: 'spans', split: 'train', rollouts: spanOf })),
	metrics: databases.map((pattern) => ({
		pattern,
		form: 'sqlite',
		table: 'metrics',
		lastOf: 'run_uuid',
		metrics: metricsOf,
	})),
	notes: [
		'All runs in a database are read as one. Metrics from the run that logged last keep their names; names from other runs start with the first characters of the run id.',
		'Each trace is a rollout without a step: the inputs and outputs of its root span. MLflow records no rewards for traces.',
	],
	async recognize(folder) {
		for (const pattern of databases) {
			for (const { path } of await folder.some(pattern, 3)) if (await isStore(folder, path)) return true;
		}
		return false;
	},
	learn,
	describe: async (_, learned) => (learned as RunFacts | undefined) ?? {},
};
