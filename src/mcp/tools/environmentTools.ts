import { access, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import * as v from 'valibot';
import { checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { episodesPath } from '../../core/episode/environmentLanguage.ts';
import { isSoundEnvironment } from '../../core/episode/environmentSummary.ts';
import { environmentTest, environmentTests } from '../../core/episode/environmentTests.ts';
import { episodePolicies } from '../../core/episode/episodePolicies.ts';
import { environmentSource } from '../../episodes/environmentSource.ts';
import { findEnvironments } from '../../episodes/findEnvironments.ts';
import { withOpenEnvironment } from '../../episodes/openEnvironment.ts';
import { playLabeled, playPolicy, policiesOf, verifyEnvironment } from '../../episodes/verifyEnvironment.ts';
import type { EnvironmentVerification, LabeledResult } from '../../protocol/environmentVerification.ts';
import type { Episode } from '../../protocol/episode.ts';
import { pageOf, quote, quoteAll } from '../answer.ts';
import * as input from '../inputs.ts';
import type { Runs } from '../runs.ts';
import { type ActionContext, defineAction, defineTool } from '../tool.ts';

const shared = {
	environment: input.text(
		'Environment file (*.env.py or *.env.ts), or folder of a verifiers or OpenEnv environment: absolute path, or relative to a server folder.',
	),
	dataset: v.optional(input.text('JSONL rows for reset. Default: the file specified by the environment.')),
	seed: v.optional(input.described(input.whole(0, 2 ** 31), 'Seed for selecting rows and for random calls.'), 1),
	turns: v.optional(input.described(input.whole(1, 1000), 'Maximum number of turns for the random policy.'), 20),
	limit: input.limit(20),
	cursor: input.cursor,
};
const rows = (usual: number) => v.optional(input.described(input.whole(1, 1000), 'Number of rows to select.'), usual);

export const listEnvironments = defineTool({
	name: 'list_environments',
	title: 'List environments',
	description:
		'List environments in the server folders: environment files, and folders of verifiers and OpenEnv environments. Does not run their code.',
	input: v.object({ limit: input.limit(50), cursor: input.cursor }),
	async run({ limit, cursor }, { runs, signal }) {
		const found = [];
		for (const folder of runs.folders) {
			const path = await realpath(folder).catch(() => null);
			if (path !== null) found.push(...(await findEnvironments(path, signal)));
		}
		const unique = [...new Map(found.map((one) => [one.path, one])).values()];
		const page = pageOf(unique, cursor, limit);
		const items = await Promise.all(
			page.items.map(async ({ kind, path }) => ({
				...{ environment: path, kind },
				...(kind === 'file' ? { labeled_episodes: await exists(episodesPath(path)) } : {}),
			})),
		);
		return { ...page, items };
	},
});

const exists = (path: string) =>
	access(path).then(
		() => true,
		() => false,
	);

interface Opening {
	readonly environment: string;
	readonly dataset?: string | undefined;
	readonly seed: number;
	readonly rows: number;
}

/** Opens an environment inside the server's folders. Agents cannot open packages or servers elsewhere. */
async function opened<T>(
	{ environment, dataset, ...options }: Opening,
	{ runs, actions, signal }: { runs: Runs; actions: ActionContext; signal: AbortSignal },
	work: Parameters<typeof withOpenEnvironment<T>>[2],
): Promise<T> {
	const source = await environmentSource(await runs.fileWithin(environment));
	const given = dataset === undefined ? undefined : await runs.fileWithin(dataset);
	const python = source.python ?? actions.python ?? undefined;
	try {
		return await withOpenEnvironment(source, { ...options, dataset: given, python, signal }, work);
	} catch (error) {
		checkAborted(signal);
		throw error;
	}
}

export const verifyEnvironmentTool = defineAction({
	name: 'verify_environment',
	title: 'Verify an environment',
	description:
		'Play episodes of an environment with solutions, random calls, no calls and invalid calls, and play its labeled episodes. Returns tests, statistics per policy and findings, most severe first. Runs the code of the environment.',
	effect: 'code',
	input: v.object({ ...shared, rows: rows(20) }),
	async run({ limit, cursor, turns, ...given }, context) {
		return opened(given, context, async (runner, data) => {
			const options = { turns, seed: given.seed, signal: context.signal };
			const verification = await verifyEnvironment(runner, data, options);
			return shownVerification(verification, { limit, cursor });
		});
	},
});

const severity = ['error', 'warning', 'information'];

function shownVerification(
	verification: EnvironmentVerification,
	{ limit, cursor }: { readonly limit: number; readonly cursor: number },
) {
	const { file, environment, dataset, rows, solvable, policies, findings, remarks, labeled, turnMs } = verification;
	const sorted = findings.toSorted((a, b) => severity.indexOf(a.level) - severity.indexOf(b.level));
	const page = pageOf(sorted, cursor, limit);
	const failed = labeled.filter(({ difference }) => difference !== null);
	return {
		environment: file,
		name: quoteAll(environment.name),
		tools: quoteAll(environment.tools.map(({ name }) => name)),
		passed: isSoundEnvironment(verification),
		data: { dataset, rows, rows_with_solution: solvable },
		tests: environmentTests.map(({ id, label }) => {
			const { message, ...outcome } = environmentTest(id, verification);
			return { test: id, label, ...outcome, ...(message === undefined ? {} : { message: quote(message, 500) }) };
		}),
		labeled_episodes: {
			...{ played: labeled.length, failed: failed.length },
			first_failed: failed.slice(0, 20).map(shownLabel),
		},
		policies,
		milliseconds_per_turn: turnMs,
		remarks: quoteAll(remarks),
		...page,
		items: page.items.map(({ message, ...finding }) => ({ ...finding, message: quote(message, 1000) })),
	};
}

const shownLabel = ({ label, line, difference }: LabeledResult) => ({
	...{ label: quote(label, 200), line, passed: difference === null },
	...(difference === null ? {} : { difference: quote(JSON.stringify(difference), 1000) }),
});

export const runEpisodesTool = defineAction({
	name: 'run_episodes',
	title: 'Run episodes',
	description:
		'Play one episode of an environment per row with a policy (gold plays the solutions in the rows), or play its labeled episodes, and return the turns page by page. Only the episodes on the page are played. Runs the code of the environment.',
	effect: 'code',
	input: v.object({
		...shared,
		policy: v.optional(
			input.described(v.picklist([...episodePolicies, 'labeled']), 'Policy that chooses the calls.'),
			'gold',
		),
		rows: rows(50),
		characters: input.characters,
		limit: input.limit(5),
	}),
	async run({ limit, cursor, turns, policy: wanted, characters, ...given }, context) {
		const { signal } = context;
		return opened(given, context, async (runner, data) => {
			const environment = await runner.describe();
			const about = { environment: runner.file, policy: wanted, remarks: quoteAll(data.remarks) };
			if (wanted === 'labeled') {
				if (data.labeled === undefined) {
					const name = basename(episodesPath(runner.file));
					throw new Failure('missing', 'The environment has no labeled episodes.', `Add some to ${name}.`);
				}
				const page = pageOf(data.labeled.episodes, cursor, limit);
				const played = await playLabeled(runner, environment, { ...data.labeled, episodes: page.items }, signal);
				const items = played.map((one) => ({ ...shownLabel(one), ...shownEpisode(one.episode, characters) }));
				return { ...about, invalid_lines: quoteAll(data.labeled.faults.slice(0, 20)), ...page, items };
			}
			const planned = data.rows.flatMap((row) =>
				policiesOf(environment, row.row, row.columns, given.seed)
					.filter(({ policy }) => policy === wanted)
					.map((policy) => ({ row, policy })),
			);
			if (planned.length === 0) {
				throw new Failure('invalid', 'No row has a solution.', 'Add a column "calls", or choose another policy.');
			}
			const page = pageOf(planned, cursor, limit);
			const items = [];
			for (const { row, policy } of page.items) {
				checkAborted(signal);
				const episode = await playPolicy(runner, environment, row, policy, { turns, signal });
				items.push(shownEpisode(episode, characters));
			}
			return { ...about, ...page, items };
		});
	},
});

/** Maximum number of turns per episode in a response. */
const maxTurns = 50;

function shownEpisode({ row, observation, turns, reward, stop, error, logs }: Episode, characters: number) {
	return {
		...{ row, reward, stop },
		observation: observation === null ? null : quote(observation, characters),
		turns: turns.slice(0, maxTurns).map(({ calls, results, done, reward: ofTurn }) => ({
			calls: quote(JSON.stringify(calls), characters),
			results: results.map(({ name, content, failed }) => ({
				...{ tool: quote(name, 200), failed, content: quote(content, characters) },
			})),
			...(done === null ? {} : { done }),
			...(ofTurn === undefined ? {} : { reward: ofTurn }),
		})),
		...(turns.length > maxTurns ? { more_turns: turns.length - maxTurns } : {}),
		...(error === undefined
			? {}
			: {
					error: {
						...{ during: error.during, kind: error.kind, message: quote(error.message, 1000) },
						...(error.line === undefined ? {} : { line: error.line }),
					},
				}),
		...(logs.length === 0 ? {} : { output: quote(logs.join('\n'), 1000) }),
	};
}
