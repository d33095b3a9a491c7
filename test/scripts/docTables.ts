/** Generates the tables in docs/ from code: recipe keys, task generators, metrics, importers. */
import { readFileSync } from 'node:fs';
import { Random } from '../../src/base/random.ts';
import { createTask } from '../../src/core/dataset/createTask.ts';
import { datasetPresets, type PresetReading } from '../../src/core/dataset/presets.ts';
import { taskDefaults } from '../../src/core/dataset/settings.ts';
import { trainers } from '../../src/core/metrics/canonicalName.ts';
import { describeMetric, metricNames } from '../../src/core/metrics/catalog.ts';
import { devicePartNames } from '../../src/core/metrics/deviceNames.ts';
import { type MetricInfo, type MetricUnit, metricGroups } from '../../src/core/metrics/metricInfo.ts';
import { probes } from '../../src/core/reward/audit/probes.ts';
import { builtInInfos } from '../../src/core/reward/builtInInfos.ts';
import { builtInRewardNames } from '../../src/protocol/recipeKeys/builtInRewards.ts';
import { envelopeKeys } from '../../src/protocol/recipeKeys/pipelineRecipe.ts';
import { taskNames } from '../../src/protocol/recipeKeys/recipe.ts';
import { formats } from '../../src/runs/importers/formats.ts';
import { cliTables } from './cliTables.ts';
import { exportTables } from './exportExamples.ts';
import { mcpTables } from './mcpTables.ts';
import { queryTables } from './queryTables.ts';
import { ruleTables } from './ruleTables.ts';
import { searchTables } from './searchTables.ts';
import { settingsTables } from './settingsTables.ts';

interface Schema {
	readonly type?: string;
	readonly const?: unknown;
	readonly enum?: readonly unknown[];
	readonly default?: unknown;
	readonly description?: string;
	readonly minimum?: number;
	readonly maximum?: number;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
	readonly anyOf?: readonly Schema[];
	readonly oneOf?: readonly Schema[];
	readonly items?: Schema | readonly Schema[];
	readonly definitions?: Readonly<Record<string, Schema>>;
}

const schemaFile = new URL('../../media/schemas/recipe.schema.json', import.meta.url);

/** Escapes text for a table cell, where a pipe would end the cell. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (value: unknown) =>
	`\`${typeof value === 'string' && !value.includes('\n') ? value : JSON.stringify(value)}\``;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
	return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** Describes a key's allowed values: "1 to 9", "`a`, `b`", "true or false". */
function values(schema: Schema): string {
	if (schema.const !== undefined) return code(schema.const);
	if (schema.enum) return schema.enum.map(code).join(', ');
	const { minimum: low, maximum: high } = schema;
	const bounds =
		high === undefined || high >= 1e9 ? (low === undefined ? 'any' : `from ${low}`) : `${low ?? 'any'} to ${high}`;
	switch (schema.type) {
		case 'integer':
			return `whole number, ${bounds}`;
		case 'number':
			return `number, ${bounds}`;
		case 'boolean':
			return 'true or false';
		case 'string':
			return 'text';
		case 'array':
			return 'list';
		case 'object':
			return 'object';
		default: {
			const options = schema.anyOf ?? [];
			if (options.some(({ type }) => type === 'null')) return '`["open", "close"]` or `null`';
			return options.length > 0 && options.every(({ type }) => type === 'object') ? 'object' : 'see below';
		}
	}
}

const statedDefault = /\s*\(default:? ([^)]*)\)/;

/** Meanings of keys without a schema description, which report their own errors. */
const undescribed: Readonly<Record<string, string>> = {
	think: 'Tags around the thinking; `null` for none.',
	answer: 'Tags around the answer; `null` for none.',
};

/** Returns a row for each key of an object. Moves a default stated in the description to the default column. */
function keyRows(schema: Schema, keys = Object.keys(schema.properties ?? {})): string[][] {
	return keys.map((key) => {
		const property = schema.properties?.[key] ?? {};
		const description = property.description ?? '';
		const stated = statedDefault.exec(description)?.[1];
		const fallback = schema.required?.includes(key)
			? 'required'
			: property.default !== undefined
				? code(property.default)
				: stated === undefined
					? '-'
					: /^\S+$/.test(stated)
						? code(stated.replaceAll('"', ''))
						: stated;
		// Keep a reference before the default: "DAPO; default false".
		const meaning = description
			.replace(statedDefault, '')
			.replace(/[;,] default [^)]*(?=\))/, '')
			.trim();
		return [code(key), values(property), fallback, meaning || (undescribed[key] ?? '')];
	});
}

function keyTable(schema: Schema, keys?: readonly string[]): string {
	return table(['key', 'values', 'default', 'meaning'], keyRows(schema, keys && [...keys]));
}

/** Keys shared by all built-in rewards. */
const commonKeys = ['use', 'name', 'weight'];
const ownKeys = (reward: Schema) => Object.keys(reward.properties ?? {}).filter((key) => !commonKeys.includes(key));

/** Returns the schema entries for the built-in rewards, in order. */
function builtIns(schema: Schema): Schema[] {
	const entry = pick(schema.properties?.rewards?.items as Schema | undefined, 'rewards');
	return optionsOf(entry)
		.flatMap((one) => [one, ...optionsOf(one)])
		.filter((one) => one.properties?.use !== undefined);
}

/** Returns the tables for docs/rewards.md, by placeholder name. */
export function rewardTables(): Record<string, string> {
	const schema: Schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
	const byName = new Map(builtIns(schema).map((reward) => [reward.properties?.use?.const, reward]));
	const rows = builtInInfos.map((info) => {
		const options = ownKeys(pick(byName.get(info.name), info.name))
			.map(code)
			.join(', ');
		const cells = [info.sentence, info.formula, info.range, options || '-', info.nullRule, info.source];
		return [code(info.name), ...cells];
	});
	return {
		'built-in': table(['reward', 'meaning', 'formula', 'range', 'options', 'null when', 'source'], rows),
	};
}

const optionsOf = (schema: Schema): readonly Schema[] => schema.anyOf ?? schema.oneOf ?? [];

function pick<T>(value: T | undefined, what: string): T {
	if (value === undefined) throw new Error(`The recipe schema no longer has ${what}.`);
	return value;
}

/** Returns the tables for docs/recipe.md, by placeholder name. */
export function recipeTables(): Record<string, string> {
	const schema: Schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
	const property = (key: string) => pick(schema.properties?.[key], key);
	const option = (of: Schema, key: string) =>
		pick(
			optionsOf(of).find((one) => one.properties?.[key]),
			`option with ${key}`,
		);
	const stages = pick(schema.definitions?.stage, 'stage');
	const kind = (type: string) =>
		pick(
			optionsOf(stages).find((one) => one.properties?.type?.const === type),
			type,
		);
	const sft = kind('sft');
	const grpo = kind('grpo');
	const pytorch = property('pytorch');
	const outer = new Set<string>(envelopeKeys);
	const common = Object.keys(sft.properties ?? {}).filter(
		(key) => key !== 'type' && !outer.has(key) && grpo.properties?.[key],
	);
	const value = kind('value-model');
	const process = kind('process-reward-model');
	const ofHeads = Object.keys(value.properties ?? {}).filter(
		(key) => !common.includes(key) && !outer.has(key) && key !== 'type' && key !== 'num_generations',
	);
	const own = (stage: Schema) =>
		Object.keys(stage.properties ?? {}).filter((key) => !common.includes(key) && !outer.has(key));
	/** Returns the schema for the value of a key that can also name another stage in the pipeline. */
	const orStage = (stage: Schema, key: string) => option(pick(stage.properties?.[key], key), 'path');
	const rewards = pick(property('rewards').items as Schema | undefined, 'rewards');
	const file = option(rewards, 'file');
	return {
		recipe: keyTable(schema),
		'dataset-task': keyTable(option(property('dataset'), 'task')),
		tasks: taskTable(),
		'dataset-file': keyTable(option(property('dataset'), 'path')),
		presets: presetTable(),
		'model-new': keyTable(option(property('model'), 'layers')),
		'model-path': keyTable(option(property('model'), 'path')),
		template: keyTable(option(property('template'), 'prompt')),
		'reward-use': table(
			['key', 'values', 'default', 'meaning'],
			[
				[code('use'), builtInRewardNames.map(code).join(', '), 'required', 'A built-in reward.'],
				...keyRows(pick(builtIns(schema)[0], 'built-in rewards'), commonKeys.slice(1)),
			],
		),
		'reward-options': table(
			['key', 'values', 'default', 'meaning'],
			builtIns(schema).flatMap((reward) =>
				keyRows(reward, ownKeys(reward)).map(([key, kinds, fallback, meaning]) => [
					key as string,
					kinds as string,
					fallback as string,
					`${code(reward.properties?.use?.const)}: ${meaning}`,
				]),
			),
		),
		'reward-file': keyTable(file),
		stage: keyTable(sft, common),
		head: keyTable(value, ofHeads),
		'value-model': keyTable(value, ['num_generations']),
		'process-reward-model': keyTable(
			process,
			own(process).filter((key) => key !== 'type' && !ofHeads.includes(key)),
		),
		split: keyTable(option(pick(process.properties?.split, 'split'), 'text')),
		active: keyTable(pick(process.properties?.active, 'active')),
		labels: keyTable(orStage(value, 'labels')),
		until: keyTable(pick(sft.properties?.until, 'until')),
		pretrain: keyTable(kind('pretrain'), own(kind('pretrain'))),
		corpus: keyTable(pick(kind('pretrain').properties?.corpus, 'corpus')),
		sft: keyTable(sft, own(sft)),
		latent: keyTable(pick(sft.properties?.latent, 'latent')),
		grpo: keyTable(grpo, own(grpo)),
		curriculum: keyTable(pick(grpo.properties?.curriculum, 'curriculum')),
		proposals: keyTable(pick(grpo.properties?.proposals, 'proposals')),
		ppo: keyTable(kind('ppo'), own(kind('ppo'))),
		rloo: keyTable(kind('rloo'), own(kind('rloo'))),
		dpo: keyTable(kind('dpo'), own(kind('dpo'))),
		'reward-model': keyTable(kind('reward-model'), own(kind('reward-model'))),
		pairs: keyTable(orStage(kind('dpo'), 'pairs')),
		distill: keyTable(kind('distill'), own(kind('distill'))),
		rejection: keyTable(kind('rejection-sampling'), own(kind('rejection-sampling'))),
		keep: keyTable(pick(kind('rejection-sampling').properties?.keep, 'keep')),
		'keep-language': keyTable(
			pick(pick(kind('rejection-sampling').properties?.keep, 'keep').properties?.language, 'language'),
		),
		extra: keyTable(
			option(pick(kind('rejection-sampling').properties?.extra?.items as Schema | undefined, 'extra'), 'path'),
		),
		data: keyTable(orStage(kind('distill'), 'data')),
		pytorch: keyTable(pytorch),
		lora: keyTable(pick(pytorch.properties?.lora, 'lora')),
		vllm: keyTable(pick(pytorch.properties?.vllm, 'vllm')),
		ray: keyTable(property('ray')),
		scoring: keyTable(property('scoring')),
		environment: keyTable(property('environment')),
		evaluate: keyTable(property('evaluate')),
		checkpoint: keyTable(property('checkpoint')),
		log: keyTable(property('log')),
	};
}

/** Returns the tables for docs/pipelines.md, by placeholder name. */
export function pipelineTables(): Record<string, string> {
	const schema: Schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
	const stages = pick(schema.definitions?.stage, 'stage');
	const loop = pick(
		optionsOf(pick(pick(schema.properties?.stages, 'stages').items as Schema | undefined, 'entry of "stages"')).find(
			(one) => one.properties?.loop,
		),
		'loop in "stages"',
	);
	const kind = (type: string) =>
		pick(
			optionsOf(stages).find((one) => one.properties?.type?.const === type),
			type,
		);
	const own = (stage: Schema) =>
		Object.keys(stage.properties ?? {}).filter((key) => !(envelopeKeys as readonly string[]).includes(key));
	const property = (stage: Schema, key: string) => pick(stage.properties?.[key], key);
	const option = (of: Schema, key: string) =>
		pick(
			optionsOf(of).find((one) => one.properties?.[key]),
			`object with ${key}`,
		);
	return {
		envelope: keyTable(kind('sft'), [...envelopeKeys]),
		reference: keyTable(option(property(kind('sft'), 'from'), 'stage')),
		previous: keyTable(option(property(kind('sft'), 'from'), 'previous')),
		loop: keyTable(loop),
		round: keyTable(property(kind('sft'), 'round')),
		skipIf: keyTable(option(property(kind('sft'), 'skipIf'), 'heldOutAccuracy')),
		'skipIf-rising': keyTable(option(property(kind('sft'), 'skipIf'), 'notAbove'), ['notAbove']),
		comparison: keyTable(pick(pick(schema.properties?.compare, 'compare').items as Schema | undefined, 'a comparison')),
		budget: keyTable(property(kind('search'), 'budget')),
		search: keyTable(kind('search'), own(kind('search'))),
		evaluate: keyTable(kind('evaluate'), own(kind('evaluate'))),
	};
}

const readings: Readonly<Record<PresetReading, string>> = {
	columns: 'as is',
	hashes: 'the text after `####`; the text before it is the solution',
	boxed: 'the last `\\boxed{}` of the solution',
	code: 'none: the row tests decide; visible tests are appended to the prompt',
	countdown: 'any expression that reaches the target and uses each number once',
};

function presetTable(): string {
	const rows = Object.entries(datasetPresets).map(([name, preset]) => {
		const { title, path, config, split, heldOut, prompt, answer, solution, reading } = preset;
		const place = `${code(path)}${config === null ? '' : `, ${code(config)}`}: ${code(split)}${heldOut === null ? '' : ` and ${code(heldOut)}`}`;
		const columns = [...new Set([prompt, ...(reading === 'code' ? [] : [answer]), solution])].map(code).join(', ');
		return [code(name), title, place, columns, readings[reading]];
	});
	return table(['preset', 'what', 'on the Hub', 'columns', 'answer'], rows);
}

/** Returns a table of the generators with their settings and the first problem from a fixed stream. */
function taskTable(): string {
	const rows = taskNames.map((task) => {
		const defaults = Object.entries(taskDefaults[task]).map(([key, value]) => `\`${key}\` ${code(value)}`);
		const problem = createTask({ task }).sample(Random.of('docs', task));
		return [code(task), defaults.join(', '), code(problem.prompt), code(problem.solution), code(problem.answer)];
	});
	return table(['task', 'settings and defaults', 'a prompt', 'worked solution', 'answer'], rows);
}

const units: Readonly<Record<MetricUnit, string>> = {
	number: 'number',
	share: 'share, 0 to 1',
	seconds: 'seconds',
	tokens: 'tokens',
	nats: 'nats',
	rate: 'per second',
	bytes: 'bytes',
	celsius: '°C',
	watts: 'W',
};

/** Metrics whose names are derived from other names. */
const built: readonly string[] = [
	'rewards/NAME/mean',
	'rewards/NAME/std',
	'rewards/NAME/errors',
	'eval/heldout/accuracy',
	'eval/heldout/accuracy_low',
	'eval/heldout/accuracy_high',
	'eval/until/accuracy',
	'eval/until/accuracy_low',
	'eval/until/accuracy_high',
	'eval/NAME/reward',
	'eval/NAME/pass@K',
	...[
		'generate',
		'reward',
		'logprobs',
		'reference',
		'advantages',
		'update',
		'weights',
		'sync',
		'data',
		'checkpoint',
		'evaluate',
		'other',
	].map((phase) => `time/${phase}`),
	...devicePartNames.map((part) => `gpu/N/${part}`),
];

/** Combines a metric's meaning and the usual reasons for its changes in one cell. */
function meaning({ explanation, healthy, rises, falls }: MetricInfo): string {
	return [explanation, healthy && `*Healthy:* ${healthy}.`, rises && `*Up:* ${rises}`, falls && `*Down:* ${falls}`]
		.filter(Boolean)
		.join(' ');
}

/** Returns a table per trainer, named like "trainer-trl". */
function trainerTables(): Record<string, string> {
	return Object.fromEntries(
		trainers.map(({ formats, names }) => [
			`trainer-${formats[0]}`,
			table(
				['name', 'here', 'differences'],
				names
					// Names that differ only by a prefix are described in the text.
					.filter(({ name, versions }) => !name.startsWith('eval_') && versions !== 'in TensorBoard')
					.map(({ name, canonical, differs, akin, versions }) => [
						`${code(name)}${versions ? ` (${versions})` : ''}`,
						akin ? `related to ${code(canonical)}` : code(canonical),
						differs ?? '',
					]),
			),
		]),
	);
}

/** Returns the tables for docs/metrics.md by placeholder name, one per group. */
export function metricTables(): Record<string, string> {
	const infos: MetricInfo[] = [...metricNames, ...built].map((name) => describeMetric(name));
	const groups = metricGroups.filter((group) => infos.some((info) => info.group === group));
	return {
		...Object.fromEntries(
			groups.map((group) => [
				group,
				table(
					['name', 'unit', 'over', 'meaning'],
					infos
						.filter((info) => info.group === group)
						.map((info) => [code(info.name), units[info.unit], info.over, meaning(info)]),
				),
			]),
		),
		...trainerTables(),
	};
}

const place = /(<!-- table: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** Returns the text with its tables regenerated. Throws if a placeholder has no table or a table no placeholder. */
export function withTables(text: string, tables: Readonly<Record<string, string>>): string {
	const used = new Set<string>();
	const filled = text.replace(place, (_, open: string, name: string, close: string) => {
		const content = tables[name];
		if (content === undefined) throw new Error(`There is no table "${name}".`);
		used.add(name);
		return `${open}\n${content}\n\n${close}`;
	});
	const missing = Object.keys(tables).filter((name) => !used.has(name));
	if (missing.length > 0) throw new Error(`The text has no placeholder for the tables ${missing.join(', ')}.`);
	return filled;
}

function auditTables(): Record<string, string> {
	const rows = probes.map(({ id, title, severity, attacks, why }) => [code(id), title, severity, attacks, why]);
	return { probes: table(['probe', 'completion', 'severity', 'attacks', 'why it must not get the full reward'], rows) };
}

/** Returns a section per importer with the files it reads and its notes. */
function formatTables(): Record<string, string> {
	const sections = formats.map(({ name, title, looksFor, rollouts, metrics, notes }) => {
		const files = (of: readonly { readonly pattern: string }[]) =>
			[...new Set(of.map(({ pattern }) => pattern))].map(code).join(', ') || 'none';
		const read = (split: string) => files(rollouts.filter((one) => one.split === split));
		const rows = [
			['checks for', looksFor],
			['rollouts', read('train')],
			...(rollouts.some(({ split }) => split === 'validation') ? [['evaluations', read('validation')]] : []),
			['metrics', files(metrics)],
		];
		const list = notes.map((note) => `- ${note}`).join('\n');
		return `### ${title} (${code(name)})\n\n${table(['', ''], rows)}\n\n${list}`;
	});
	return { formats: sections.join('\n\n'), versions: versionTable() };
}

interface TestedRun {
	readonly run: string;
	readonly versions: Readonly<Record<string, string>>;
	readonly rollouts: number;
	readonly metrics: number;
}

/** Returns the releases that `npm run acceptance -- formats` last compared. */
function versionTable(): string {
	const tested = JSON.parse(readFileSync('test/acceptance/formats/versions.json', 'utf8')) as readonly TestedRun[];
	const rows = tested.map(({ run, versions, rollouts, metrics }) => [
		run,
		Object.entries(versions)
			.map(([name, version]) => `${name} ${version}`)
			.join(', '),
		`${rollouts}`,
		`${metrics}`,
	]);
	return table(['run', 'releases', 'rollouts', 'values of metrics'], rows);
}

/** Documents that contain generated tables. */
export const tabled: readonly (readonly [path: string, tables: () => Record<string, string>])[] = [
	['docs/recipe.md', recipeTables],
	['docs/metrics.md', metricTables],
	['docs/rewards.md', rewardTables],
	['docs/audit.md', auditTables],
	['docs/diagnosis.md', ruleTables],
	['docs/formats.md', formatTables],
	['docs/exports.md', exportTables],
	['docs/queries.md', queryTables],
	['docs/search.md', searchTables],
	['docs/pipelines.md', pipelineTables],
	['docs/cli.md', cliTables],
	['docs/settings.md', settingsTables],
	['docs/mcp.md', mcpTables],
];
