/**
 * The same calls in the same environment file give the same episodes in every program that plays them: the episode view,
 * the embedded engine, the PyTorch engine, and a plain TRL script.
 */
// @reaches driver trainer rewardPython
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { shortState } from '../../src/core/episode/shortState.ts';
import { decodeResolvedRecipe } from '../../src/core/recipe/resolve.ts';
import { templateTags } from '../../src/core/text/template.ts';
import { createTokenizer } from '../../src/core/text/tokenizer.ts';
import { EpisodePlayer } from '../../src/engines/embedded/run/episodes/episodePlayer.ts';
import { EpisodeText } from '../../src/engines/embedded/run/episodes/episodeText.ts';
import { openEnvironment } from '../../src/engines/embedded/run/episodes/openedEnvironment.ts';
import { environmentData } from '../../src/episodes/environmentData.ts';
import { EnvironmentRunner } from '../../src/episodes/environmentRunner.ts';
import { EpisodeViewSession } from '../../src/extension/panels/episode/episodeViewSession.ts';
import type { ToolSchema } from '../../src/protocol/environmentHost.ts';
import type { EpisodeTurn, ToolCall } from '../../src/protocol/episode.ts';
import type { EvaluationLine } from '../../src/protocol/evaluation.ts';
import { type RolloutEpisode, rolloutEpisode } from '../../src/protocol/rolloutEpisode.ts';
import type { Message, RolloutLine } from '../../src/protocol/rolloutLine.ts';
import { openRewardHosts } from '../../src/rewards/openRewardHosts.ts';
import { openDataset } from '../../src/runs/openDataset.ts';
import { readEvaluationLines, readRecord, readResolvedRecipe, readRollouts } from '../../src/runs/runReader.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { forkingPython, runPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';

const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const driver = builtProgram('dist/driver.js');
const python = 'python' in found ? found.python : '';

/**
 * A lock with a number from 10 to 99. Every text has the same length for all rows, so that a model whose tokens depend
 * only on their positions can make the same calls on each.
 */
const environment = `class Lock:
    reward_range = (0, 1)

    def reset(self, number, **row):
        self._number, self._tries, self.done = number, [], False
        self.turn_rewards = []
        return f" It opens with two digits and has serial number {number * 7 + 1000}."

    def turn(self, number: int, slowly: bool = False) -> str:
        """
        Turns the lock.

        Args:
            number: The number to try.
            slowly: Whether to turn it slowly.

        Returns:
            What happens.
        """
        if self.done:
            raise ValueError("The lock is open.")
        if not 10 <= number <= 99:
            raise ValueError(f"{number} does not have two digits, unlike {self._number // 10}*.")
        self._tries.append(number)
        self.turn_rewards.append(0.1)
        self.done = number == self._number
        return "opened" if self.done else "higher" if number < self._number else "lower."

    async def listen(self, sounds: list[str], volume: float | None = None) -> dict[str, int]:
        """
        Listens.

        Args:
            sounds: The sounds to count.
            volume: How loud they are.
        """
        self.turn_rewards.append(0.1 * len(sounds) if sounds else None)
        return {sound: self._tries.count(int(sound)) * 10 + self._number % 10 for sound in sounds}

    def get_reward(self):
        earned = sum(one for one in self.turn_rewards if one is not None)
        return 1.0 if self.done else earned + self._number / 1000
`;

const call = (name: string, given: Record<string, unknown>): ToolCall => ({ name, arguments: given });
/**
 * Successful calls, calls that fail in every way that all the programs can parse, and several calls in one message. The
 * last call opens lock 42.
 */
const script: readonly (readonly ToolCall[])[] = [
	[call('turn', { number: 30 })],
	[call('peek', {})],
	[call('listen', { sounds: ['30', '42'], volume: 0.5 }), call('turn', { number: 50, slowly: true })],
	[call('turn', {}), call('turn', { number: 'one' }), call('turn', { numbers: 3 })],
	[call('turn', { number: 7 }), call('reset', { number: 42 })],
	[call('listen', { sounds: [] })],
	[call('turn', { number: 42 })],
];
const numbers = [42, 37, 88, 42, 10, 99, 25, 61, 42, 73];
const rows = numbers.map((number, i) => ({
	prompt: [{ role: 'user', content: `Lock ${i}.` }],
	answer: null,
	number,
	lock: i,
}));

interface Episode {
	readonly observation: string | null;
	/** State after the reset and after each turn, in short form; plain TRL records none. */
	readonly states: readonly unknown[];
	readonly turns: readonly {
		readonly calls: readonly ToolCall[];
		readonly results: readonly Result[];
		readonly reward: number | null;
	}[];
	readonly reward: number | null;
}
type Result = Readonly<{ name: string; content: string; failed: boolean }>;
/** Messages do not indicate whether a call failed. */
type Shown = readonly { readonly calls: readonly ToolCall[]; readonly results: readonly Omit<Result, 'failed'>[] }[];

type PlayedTurn = Pick<EpisodeTurn, 'calls' | 'results'> & { readonly reward?: number | null | undefined };
const shownTurn = ({ calls, results, reward = null }: PlayedTurn) => ({
	calls,
	reward,
	results: results.map(({ name, content, failed }) => ({ name, content, failed })),
});
const statesOf = ({ state, turns = [] }: RolloutEpisode) => [state, ...turns.map((turn) => turn.state)];
const asMessages = (turns: Episode['turns']): Shown =>
	turns.map(({ calls, results }) => ({ calls, results: results.map(({ failed: _, ...result }) => result) }));
const rounded = (reward: number | null) => (reward === null ? null : Math.fround(reward));

describe('the same calls in the same environment file', { skip, timeout: 280_000 }, () => {
	let place: Workplace;
	let file = '';
	let tools: readonly ToolSchema[] = [];
	/** Episodes of the episode view by row, with which the others are compared. */
	let expected: readonly Episode[] = [];
	let model = '';

	before(async () => {
		place = await Workplace.make(driver);
		place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);
		file = join(place.folder, 'lock.env.py');
		model = join(place.folder, 'model');
		await writeFile(file, `# @dataset lock.rows.jsonl\n\n${environment}`);
		await writeFile(join(place.folder, 'lock.rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
		({ tools, expected } = await viewedEpisodes(file));
		await writeModel(model, tools, expected[0] as Episode);
	});
	after(() => place[Symbol.asyncDispose]());

	const recipe = (engine: 'pytorch' | 'embedded') => ({
		...{ name: `lock-${engine}`, engine, device: 'cpu', seed: 7, whenBusy: 'share' },
		dataset: { path: 'lock.rows.jsonl', heldOutShare: 0.2 },
		...(engine === 'pytorch' ? { model: { path: model } } : { model: { layers: 1, width: 16, heads: 2 } }),
		template: { prompt: '{prompt}', think: null, answer: null, ...(engine === 'pytorch' ? { chat: true } : {}) },
		environment: { file: 'lock.env.py' },
		rewards: [{ use: 'environment' }],
		stages: [
			{
				...{ type: 'grpo', steps: 1, learning_rate: 1e-5, num_generations: 2, prompts_per_step: 4 },
				max_completion_length: 2500,
			},
		],
		evaluate: { every: 100, problems: 2 },
		checkpoint: { every: 100 },
	});

	it('give episodes that differ between rows in the episode view', () => {
		assert.deepEqual(
			expected.map(({ reward }) => reward),
			numbers.map((number) => (number === 42 ? 1 : 0.5 + number / 1000)).map(rounded),
		);
		const contents = expected.map(({ turns }) => turns.flatMap(({ results }) => results.map(({ content }) => content)));
		assert.equal(new Set(contents.map((list) => list.join('\n'))).size, new Set(numbers).size);
		assert.deepEqual(
			contents.map((list) => list.map(({ length }) => length)),
			contents.map(() => contents[0]?.map(({ length }) => length)),
		);
		// Asynchronous calls are made after the others in their message.
		assert.deepEqual(contents[1]?.slice(0, 4), [
			'higher',
			"{'error': 'Tool peek not found.'}",
			'lower.',
			"{'30': 17, '42': 7}",
		]);
	});

	it('give the same episodes in the embedded engine', async () => {
		const run = await place.prepare(recipe('embedded'), 'embedded');
		const { source } = await openDataset((await resolvedRecipe(run)).dataset);
		const opened = await openEnvironment(run, await resolvedRecipe(run), source);
		assert.ok(opened !== null);
		try {
			assert.deepEqual(opened.tools, tools);
			const { template } = await resolvedRecipe(run);
			const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
			const text = new EpisodeText(createTokenizer(templateTags(template), printable), template, opened.tools);
			const player = new EpisodePlayer(opened, text, { maxTurns: null, context: 10_000 }, { seed: 7, states: true });
			const problems = [...Array.from({ length: 8 }, (_, i) => source.training(7, i)), ...source.heldOut(2)];
			assert.equal(new Set(problems.map(({ row }) => row.lock)).size, rows.length);
			const played = await player.play({
				problems,
				seeds: problems.map((_, i) => String(i)),
				temperature: 1,
				maxCompletionLength: 9000,
				sample: async ({ prompts, seeds }) =>
					prompts.map((prompt, i) => {
						const turn = Number(seeds[i]?.split('/')[1]);
						const written = text.turn(script[turn] ?? []);
						const zeros = new Float32Array(written.length);
						const tokens = [...prompt, ...written];
						return { tokens, promptLength: prompt.length, logprobs: zeros, entropies: zeros, truncated: false };
					}),
			});
			for (const [i, { episode, reward, messages }] of played.entries()) {
				const own = expected[problems[i]?.row.lock as number] as Episode;
				const { observation = null, turns = [] } = episode;
				const states = statesOf(episode);
				assert.deepEqual({ observation, states, turns: turns.map(shownTurn), reward: rounded(reward) }, own);
				assert.deepEqual(turnsOf(messages), asMessages(own.turns));
			}
		} finally {
			opened.dispose();
		}
	});

	it('give the same episodes in the PyTorch engine and in a plain TRL script', async () => {
		const run = await withOneThread(await place.prepare(recipe('pytorch'), 'pytorch'));
		const output = join(place.folder, 'plain');
		await mkdir(output);
		const config = join(output, 'config.json');
		await writeFile(config, JSON.stringify({ model, file, rows, output, generations: 2, tokens: 2500 }));
		const [exit] = await Promise.all([
			place.run('--run', run),
			runPython({ python, script: join(root, 'test/trainer/python/plain_environment.py'), args: [config] }),
		]);
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify((await readRecord(run)).error)}`);
		const plain = JSON.parse(await readFile(join(output, 'episodes.json'), 'utf8')) as PlainEpisodes;
		assert.deepEqual(byName(plain.tools), byName(tools));
		assert.equal(plain.episodes.length, rows.length * 2);
		const texts = new Map<number, string>();
		for (const { lock, prompt, completion, text, reward } of plain.episodes) {
			const own = expected[lock] as Episode;
			assert.equal(prompt.at(-1)?.content, `Lock ${lock}.${own.observation}`);
			assert.deepEqual(
				{ turns: turnsOf(completion), reward: rounded(reward) },
				{ turns: asMessages(own.turns), reward: own.reward },
			);
			texts.set(lock, text);
		}

		const trained = await readRollouts(run, 1);
		const held = await readEvaluationLines(run, 0, 'heldout');
		assert.deepEqual([trained.length, held.length], [8, 2]);
		for (const { prompt, completion, extra, ...line } of [...trained, ...held]) {
			const asked = /Lock (\d)\..*\d{4}\./.exec(JSON.stringify(prompt));
			const like = plain.episodes.find(({ lock }) => lock === Number(asked?.[1]));
			assert.ok(like !== undefined, JSON.stringify(prompt));
			assert.equal(asked?.[0], like.prompt.at(-1)?.content);
			assert.deepEqual(completion, like.completion);
			const own = expected[like.lock] as Episode;
			const episode = rolloutEpisode(extra) ?? {};
			const { observation = null, turns = [] } = episode;
			assert.deepEqual(
				{ observation, states: statesOf(episode), turns: turns.map(shownTurn) },
				{ observation: own.observation, states: own.states, turns: own.turns },
			);
			if ('rewards' in line) {
				const { rewards, tokens } = line as Pick<RolloutLine, 'rewards' | 'tokens'>;
				assert.equal(rounded(rewards.environment ?? null), own.reward);
				assert.equal(tokens?.text.join(''), texts.get(like.lock));
			} else assert.equal((line as Pick<EvaluationLine, 'correct'>).correct, own.reward === 1);
		}
	});
});

interface PlainEpisodes {
	readonly tools: readonly ToolSchema[];
	readonly episodes: readonly {
		readonly lock: number;
		readonly prompt: readonly Message[];
		readonly completion: readonly Message[];
		/** The completion as decoded from its tokens. */
		readonly text: string;
		readonly reward: number;
	}[];
}

/** TRL lists methods in alphabetical order. */
const byName = (schemas: readonly ToolSchema[]) => schemas.toSorted((a, b) => (a.name < b.name ? -1 : 1));

const resolvedRecipe = async (run: string) => decodeResolvedRecipe(await readResolvedRecipe(run), run);

/** Plays the script on every row in the session of an episode view. */
async function viewedEpisodes(file: string): Promise<{ tools: readonly ToolSchema[]; expected: readonly Episode[] }> {
	const hosts = await openRewardHosts({ python });
	const runner = new EnvironmentRunner(hosts, file);
	const session = new EpisodeViewSession(
		{
			...{ file, runFolder: null, debugs: false, saves: false },
			open: async () => runner,
			data: (signal) => environmentData({ file, rows: rows.length, seed: 1, signal }),
			post: () => undefined,
			forbidden: () => null,
		},
		{ branches: [], show: null },
	);
	try {
		const expected: Episode[] = [];
		for (const index of rows.keys()) {
			session.reset({ type: 'reset', index, columns: null, seed: 1 });
			await session.settled;
			const id = session.branches.at(-1)?.id as number;
			for (const [turn, calls] of script.entries()) {
				session.call({ type: 'call', branch: id, turn, calls: [...calls] });
				await session.settled;
			}
			session.reward(id);
			await session.settled;
			const { reset, turns, reward } = session.branch(id);
			expected.push({
				observation: reset?.observation ?? null,
				states: [reset?.state, ...turns.map(({ state }) => state)].map((state) => shortState(state ?? {})),
				turns: turns.map(shownTurn),
				reward: rounded(reward?.value ?? null),
			});
		}
		const { tools } = await runner.describe();
		return { tools: tools.map(({ schema }) => schema as ToolSchema), expected };
	} finally {
		session.dispose();
		hosts.dispose();
	}
}

/** Writes a model for TRL that makes the script's calls. */
async function writeModel(
	folder: string,
	tools: readonly ToolSchema[],
	{ observation, turns }: Episode,
): Promise<void> {
	const said = (calls: readonly ToolCall[]) =>
		calls.map((one) => `<tool_call>\n${JSON.stringify(one)}\n</tool_call>`).join('\n');
	const input = {
		prompt: [{ role: 'user', content: `Lock 0.${observation}` }],
		tools: byName(tools),
		turns: [
			...turns.map(({ calls, results }) => ({
				text: said(calls),
				results: results.map(({ name, content }) => ({ role: 'tool', name, content })),
			})),
			{ text: 'I am done.', results: [] },
		],
	};
	const script = join(root, 'test/trainer/python/scripted_model.py');
	await runPython({ python, script, args: [folder], input: JSON.stringify(input) });
}

/** Returns the turns of a conversation that contain calls. */
function turnsOf(messages: readonly Message[]): Shown {
	const turns: { calls: ToolCall[]; results: Omit<Result, 'failed'>[] }[] = [];
	for (const { role, content, name, tool_calls } of messages) {
		if (role === 'tool') turns.at(-1)?.results.push({ name: String(name), content: content ?? '' });
		else if (tool_calls !== undefined) {
			const made = tool_calls as { readonly function: ToolCall }[];
			turns.push({ calls: made.map((one) => one.function), results: [] });
		}
	}
	return turns;
}
