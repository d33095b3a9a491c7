import type { FolderView } from '../folderView.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import { type Fields, fieldsOf, integerOf, numberOf, textOf } from '../foreignValues.ts';
import type { RunEvidence, RunFacts, RunFormat } from '../runFormat.ts';
import { mlflowTrace } from './mlflow.ts';

/*
 * MLflow's folder-based store (mlflow/store/tracking/file_store.py), `mlruns` by default before MLflow 3.
 * {experiment}/{run} has meta.yaml and one file per metric, and {experiment}/traces has one folder per trace.
 */

const header = 'meta.yaml';
const traceFiles = '{trace}/artifacts/traces.json';

/** Statuses of runs that have ended, by number (mlflow/protos/service.proto). */
const statuses: Readonly<Record<number, NonNullable<RunFacts['status']>>> = {
	3: 'finished',
	4: 'crashed',
	5: 'stopped',
};

const maybeNumber = (text: string | undefined) => (text === undefined || text === '' ? null : Number(text));

/** A line "{milliseconds} {value} {step}"; later versions append the dataset and the model. */
function metricsOf(record: unknown, { file }: { readonly file: string }): readonly ForeignMetrics[] | string {
	const [time, value, step] = (textOf(record) ?? '').split(' ');
	const at = integerOf(maybeNumber(step));
	if (at === null) return 'has no step';
	const name = file.slice('metrics/'.length);
	// System metrics are numbered by sample.
	if (name.startsWith('system/')) return [];
	const milliseconds = numberOf(maybeNumber(time));
	return [
		{
			step: at,
			time: milliseconds === null ? null : milliseconds / 1000,
			values: { [name]: numberOf(maybeNumber(value)) },
		},
	];
}

/** The file with the spans of a trace. The trace is represented by its root span. */
function tracesIn(record: unknown, trace: string): readonly ForeignRollout[] | string {
	const spans = fieldsOf(record)?.spans;
	if (!Array.isArray(spans)) return 'has no spans';
	const roots = spans.map(fieldsOf).filter((span): span is Fields => span !== null && !parentOf(span));
	return roots.map((span) => {
		const [start, end] = [numberOf(span.start_time_unix_nano), numberOf(span.end_time_unix_nano)];
		return mlflowTrace(span, {
			trace,
			name: span.name,
			seconds: start === null || end === null ? null : (end - start) / 1e9,
			failed: textOf(fieldsOf(span.status)?.code)?.endsWith('ERROR') === true,
		});
	});
}

const parentOf = (span: Fields) => textOf(span.parent_span_id) ?? textOf(span.parent_id);

async function learn(folder: FolderView, evidence: RunEvidence): Promise<RunFacts> {
	if (!(await folder.has(header))) return { name: 'traces' };
	const [record] = await evidence.records(header, { form: 'yaml' }, 1);
	const meta = fieldsOf(record);
	const [started, ended] = [numberOf(meta?.start_time), numberOf(meta?.end_time)];
	const status = statuses[integerOf(meta?.status) ?? 0];
	const name = textOf(meta?.run_name);
	return {
		...(name === null || name === '' ? {} : { name }),
		...(started === null ? {} : { created: started / 1000 }),
		...(ended === null ? {} : { ended: ended / 1000 }),
		...(status === undefined ? { open: integerOf(meta?.status) === 1 } : { status }),
	};
}

export const mlflowFolders: RunFormat = {
	name: 'mlflow-folders',
	title: 'MLflow (folders)',
	looksFor: 'meta.yaml with run_id next to a metrics folder (mlruns/{experiment}/{run}), or a folder of traces',
	hasSteps: true,
	rolloutsHaveSteps: false,
	tracker: true,
	rollouts: [
		{
			pattern: traceFiles,
			form: 'json',
			split: 'train',
			rollouts: (record, { parts }) => tracesIn(record, parts.trace ?? ''),
		},
	],
	metrics: [{ pattern: 'metrics/**/{name}', form: 'lines', metrics: metricsOf }],
	notes: [
		'Each run of an experiment is a separate run; the traces of an experiment form an additional run.',
		'Each trace is a rollout without a step: the inputs and outputs of its root span. MLflow records no rewards for traces.',
	],
	async recognize(folder) {
		const head = await folder.head(header, 4096);
		if (head !== null) return /^run_id: /m.test(head);
		const [trace] = await folder.some('{trace}/trace_info.yaml', 1);
		return trace !== undefined && (await folder.has(traceFiles));
	},
	learn,
	describe: async (_, learned) => (learned as RunFacts | undefined) ?? {},
};
