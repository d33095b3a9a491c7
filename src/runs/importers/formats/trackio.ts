import { createHash } from 'node:crypto';
import type { FolderView } from '../folderView.ts';
import { textOrMessages } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
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
	scoresOf,
	secondsOf,
	sumOf,
	textOf,
} from '../foreignValues.ts';
import type { FileShape, MetricFiles, RolloutFiles, RunEvidence, RunFacts, RunFormat } from '../runFormat.ts';
import { newestField } from '../sqliteRows.ts';
import { conversationOf, isEvaluationKey } from './loggedTraces.ts';
import { keyOfPrompt, rewardColumns, scoresIn } from './trlRows.ts';

/*
 * trackio's project database (trackio/sqlite_storage.py): `metrics` has one row per logged step with its values as
 * JSON, tables included; `traces` has one row per conversation; `configs` has one row per run. A project contains many
 * runs. Exports to Parquet have the same rows: next to the database ({project}.parquet, {project}_traces.parquet), or in a
 * folder for a static Space (metrics.parquet, aux/traces.parquet). There, every logged name is a column.
 */

const database = '{project}.db';
const metricsTable = 'metrics';
const exportedMetrics = ['{project}.parquet', 'metrics.parquet'] as const;
const exportedTraces = ['{project}_traces.parquet', 'aux/traces.parquet'] as const;
const exportedConfigs = ['{project}_configs.parquet', 'aux/configs.parquet'] as const;
/** Files with a project's other tables, which would also match `{project}.parquet`. */
const otherTables = /_(system|configs|traces|\w*artifact\w*)$/;
const isMetrics = ({ project }: Readonly<Record<string, string>>) =>
	project === undefined || (!otherTables.test(project) && project !== 'metrics');
const maxRuns = 1000;

interface Run {
	readonly id: string;
	readonly name: string;
	readonly created: number | null;
}

interface Learned {
	readonly runs: readonly Run[];
	readonly newest: string | null;
}

const runOf = (row: Fields) => textOf(row.run_id) ?? textOf(row.run_name) ?? '';

/** trackio stores NaN and the infinities as text. */
const notFinite: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity']);

/** Columns of the metrics table that are not logged values. */
const ownColumns: ReadonlySet<string> = new Set([
	'id',
	'timestamp',
	'run_id',
	'run_name',
	'step',
	'space_id',
	'log_id',
	newestField,
]);

/** Returns the values logged with a row: the JSON in a column of the database, or the other columns of an export. */
function loggedIn(row: Fields | null): Fields | null {
	if (row === null || row.metrics !== undefined) return fieldsOf(parsedJson(row?.metrics));
	return Object.fromEntries(Object.entries(row).filter(([name, value]) => !ownColumns.has(name) && value !== null));
}

/** Values from the run that logged last keep their names; names from other runs start with the run's name. */
function metricsOf(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	const step = integerOf(row?.step);
	const logged = loggedIn(row);
	if (!row || step === null) return 'has no step';
	if (!logged) return 'has no metrics';
	const prefix = runOf(row) === (row.newest ?? runOf(row)) ? '' : `${textOf(row.run_name) ?? runOf(row)}/`;
	const values: Record<string, number | null> = {};
	for (const [name, value] of Object.entries(logged)) {
		if (typeof value === 'number' || typeof value === 'bigint') values[`${prefix}${name}`] = numberOf(value);
		else if (notFinite.has(value)) values[`${prefix}${name}`] = null;
	}
	return [{ step, time: secondsOf(row.timestamp), values }];
}

/** A conversation logged with trackio.Trace. */
function traceOf(record: unknown): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	const read = conversationOf(parsedJson(row?.messages));
	if (!row || read === null) return 'has no messages';
	const metadata = fieldsOf(parsedJson(row.metadata)) ?? {};
	const { reward, score, rewards, advantage, group, group_id, answer, ...others } = metadata;
	const scores = scoresOf(rewards);
	const known = group ?? group_id;
	const key = typeof known === 'string' || typeof known === 'number' ? String(known) : JSON.stringify(read.prompt);
	return [
		{
			...read,
			groupKey: `${runOf(row)} ${textOf(row.key)} ${key}`,
			step: integerOf(row.step),
			reward: scoreOf(reward) ?? scoreOf(score) ?? sumOf(Object.values(scores)),
			rewards: scores,
			advantage: numberOf(advantage),
			...given('answer', answer),
			...given('extra', extraOf({ run: row.run_name, log: row.key, metadata: others })),
		},
	];
}

/** The rows of tables with prompts and completions, such as those logged by TRL. */
function tableRollouts(record: unknown, wanted: (key: string) => boolean): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	const logged = loggedIn(row);
	if (!row || !logged) return 'has no metrics';
	return Object.entries(logged).flatMap(([key, value]) => {
		const table = fieldsOf(value);
		if (table?._type !== 'trackio.table' || !wanted(key)) return [];
		return listOf(table._value).flatMap((entry) => tableRow(fieldsOf(entry), key, row) ?? []);
	});
}

/** Returns a hash of a row's tables. TRL logs the last one again when training ends. */
function tablesKey(record: unknown): string | null {
	const row = fieldsOf(record);
	const logged = Object.entries(loggedIn(row) ?? {});
	const tables = logged.filter(([, value]) => fieldsOf(value)?._type === 'trackio.table');
	if (row === null || tables.length === 0) return null;
	return createHash('sha256')
		.update(`${runOf(row)} ${JSON.stringify(boundedValue(tables))}`)
		.digest('base64');
}

function tableRow(entry: Fields | null, key: string, row: Fields): ForeignRollout | null {
	const prompt = textOrMessages(entry?.prompt);
	const completion = textOrMessages(entry?.completion);
	if (entry === null || prompt === null || completion === null) return null;
	const names = rewardColumns(entry, null);
	const scores = scoresIn(entry, names);
	return {
		groupKey: `${runOf(row)} ${key} ${keyOfPrompt(prompt)}`,
		step: integerOf(Number(entry.step ?? Number.NaN)) ?? integerOf(row.step),
		prompt,
		completion,
		reward: scoreOf(entry.reward) ?? sumOf(scores),
		rewards: Object.fromEntries(names.map((name, i) => [name, scores[i] ?? null])),
		advantage: numberOf(entry.advantage),
		...given('extra', extraOf({ run: row.run_name, log: key })),
	};
}

const rollouts: readonly RolloutFiles[] = (['train', 'validation'] as const).flatMap((split): RolloutFiles[] => {
	const isOfSplit = (key: unknown) => isEvaluationKey(textOf(key) ?? '') === (split === 'validation');
	const traces: RolloutFiles['rollouts'] = (record) => (isOfSplit(fieldsOf(record)?.key) ? traceOf(record) : []);
	const tables: RolloutFiles['rollouts'] = (record) => tableRollouts(record, isOfSplit);
	return [
		{ pattern: database, form: 'sqlite', table: 'traces', split, rollouts: traces },
		{ pattern: database, form: 'sqlite', table: metricsTable, split, copyKey: tablesKey, rollouts: tables },
		...exportedTraces.map(
			(pattern): RolloutFiles => ({ pattern, form: 'parquet', split, unlessThere: [database], rollouts: traces }),
		),
		...exportedMetrics.map(
			(pattern): RolloutFiles => ({
				pattern,
				form: 'parquet',
				split,
				accepts: isMetrics,
				unlessThere: [database],
				copyKey: tablesKey,
				rollouts: tables,
			}),
		),
	];
});

async function learn(folder: FolderView, evidence: RunEvidence): Promise<Learned> {
	const runs: Run[] = [];
	const configs: [string, FileShape][] = [[database, { form: 'sqlite', table: 'configs' }]];
	for (const pattern of exportedConfigs) configs.push([pattern, { form: 'parquet' }]);
	for (const [pattern, shape] of configs) {
		const [file] = await folder.find(pattern);
		if (file === undefined || runs.length > 0) continue;
		for (const record of await evidence.records(file.path, shape, maxRuns)) {
			const row = fieldsOf(record);
			if (row)
				runs.push({ id: runOf(row), name: textOf(row.run_name) ?? runOf(row), created: secondsOf(row.created_at) });
		}
	}
	const times = runs.map(({ created }) => created ?? 0);
	return { runs, newest: runs[times.indexOf(Math.max(...times))]?.name ?? null };
}

async function describe(folder: FolderView, learned: unknown): Promise<RunFacts> {
	const { runs = [], newest = null } = (learned as Learned | undefined) ?? {};
	const projects = (await folder.find(database)).map(({ path }) => path.replace(/\.db$/, ''));
	if (projects.length === 0) {
		for (const { path } of await folder.find(exportedConfigs[0])) projects.push(path.replace(/_configs\.parquet$/, ''));
	}
	const names = [...new Set(runs.map(({ name }) => name))];
	return {
		versions: { project: projects.join(', '), ...(newest === null ? {} : { run: newest }) },
		...(names.length < 2
			? {}
			: { notes: [`The project contains ${names.length} runs: ${names.slice(0, 20).join(', ')}.`] }),
	};
}

/** Columns that trackio's metrics table has had in all versions. */
const metricColumns = ['run_name', 'step', 'metrics'];

async function isProject(folder: FolderView, path: string): Promise<boolean> {
	const columns = (await folder.tables(path)).get(metricsTable) ?? [];
	return metricColumns.every((name) => columns.includes(name));
}

export const trackio: RunFormat = {
	name: 'trackio',
	title: 'trackio',
	looksFor: "trackio's {project}.db, or its exports to Parquet",
	hasSteps: true,
	tracker: true,
	rollouts,
	metrics: [
		{ pattern: database, form: 'sqlite', table: metricsTable, lastOf: 'run_id', metrics: metricsOf },
		...exportedMetrics.map(
			(pattern): MetricFiles => ({
				pattern,
				form: 'parquet',
				lastOf: 'run_id',
				accepts: isMetrics,
				unlessThere: [database],
				metrics: metricsOf,
			}),
		),
	],
	notes: [
		'All runs in a project are read as one. Metrics from the run that logged last keep their names; names from other runs start with the run name.',
		'Rollouts are the logged traces, and the rows of logged tables that have a prompt and a completion.',
		'Traces record no groups or rewards unless their metadata has "group" and "reward"; otherwise the same prompt at the same step forms a group.',
		'System metrics have no steps and are not shown.',
	],
	async recognize(folder) {
		for (const { path } of await folder.some(database, 5)) if (await isProject(folder, path)) return true;
		// A static Space has a list of its runs, and a project's export has its configurations.
		if ((await folder.has('metrics.parquet')) && (await folder.has('runs.json'))) return true;
		for (const { path } of await folder.some(exportedConfigs[0], 5)) {
			if (await folder.has(path.replace(/_configs\.parquet$/, '.parquet'))) return true;
		}
		return false;
	},
	learn,
	describe,
};
