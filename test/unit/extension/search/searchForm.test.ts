import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { decode, decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	newSearchEventSchema,
	policyFactsSchema,
	type SearchDraft,
} from '../../../../src/protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../../../src/protocol/policySpec.ts';
import { rolloutPath, stepName } from '../../../../src/runs/runFiles.ts';
import { folderFor } from '../../search/searchFixtures.ts';
import { grpoRecipe, writeComparedRun } from '../../webview/comparison/comparisonFixture.ts';
import { viewOf } from '../fixtureRun.ts';

const { SearchForm } = await import('../../../../src/extension/search/searchForm.ts');
const { isComplete, presetSchema, wantedSearch } = await import('../../../../src/extension/search/wantedSearch.ts');

const server = { kind: 'openai', name: 'a server', baseUrl: 'http://127.0.0.1:1/v1', model: 'm', api: 'chat' } as const;
const problem = { prompt: '1+1=', answer: '2', row: {} };
const nothing = { environment: null, problems: [], source: null, sample: null };

async function checkpoint(run: string, step: number, score: number | null): Promise<PolicySpec> {
	const folder = join(run, 'checkpoints', stepName(step));
	await mkdir(folder, { recursive: true });
	await writeFile(join(folder, 'model.safetensors'), 'weights');
	const files = [{ name: 'model.safetensors', bytes: 7 }];
	const manifest = { format: 1, step, stage: 'grpo', score, time: step, files };
	await writeFile(join(folder, 'checkpoint.json'), JSON.stringify(manifest));
	return { kind: 'checkpoint', folder };
}

/** A server and two runs, the newer of which has no checkpoint. */
async function workspace(context: TestContext) {
	const folder = await folderFor(context);
	const recipe = grpoRecipe({ template: 'r1' });
	const [newer, older] = [join(folder, 'newer'), await writeComparedRun(folder, { name: 'older', recipe })];
	const best = await checkpoint(older, 60, 0.8);
	const last = await checkpoint(older, 120, 0.7);
	const memory = new Map<string, unknown>();
	const views = [newer, older].map((run) => viewOf(run, 'finished', 120));
	const form = new SearchForm({
		store: { ready: Promise.resolve(), own: views, runs: views },
		files: { files: async () => ['/w/own.reward.ts'], rewardsOf: async () => ['own'] },
		memory: {
			get: (key: string) => memory.get(key),
			update: async (key: string, value: unknown) => memory.set(key, value),
		},
		policies: async () => ({ store: { list: async () => [{ spec: server, run: null, hasKey: false, trial: null }] } }),
		searches: { forbidden: () => null },
		episodes: { offered: async () => [], trained: async () => null },
	} as never);
	const draft = async (given: SearchDraft = {}) => {
		const contents = decodeOrThrow(newSearchEventSchema, await form.contents(given), 'The contents');
		return contents.draft as SearchDraft;
	};
	return { form, draft, memory, older, best, last };
}

test("a first search defaults to the best checkpoint of the workspace's newest run that has one, and later searches default to the last settings", async (context) => {
	const { form, draft, memory, best, last } = await workspace(context);
	const contents = await form.contents(null);
	assert.deepEqual(
		contents.policies.map(({ group, label, detail }) => [group, label.split('/').at(-1), detail]),
		[
			['Runs', 'older, step 120', 'grpo, accuracy 70.0%'],
			['Runs', 'older, step 60', 'grpo, accuracy 80.0%, best'],
			['Servers', 'a server', 'm'],
		],
	);
	assert.equal(contents.draft, null, 'without a draft, the form keeps what was entered');
	assert.ok(contents.scorers.some(({ label, detail }) => label === 'own' && detail === 'own.reward.ts'));
	assert.deepEqual(await draft(), { policy: best });
	const used: SearchDraft = {
		...{ policy: last, problem, strategy: 'mcts', params: { c1: 2 }, guide: { use: 'majority' } },
		...{ budget: { nodes: 7 }, seed: 5 },
	};
	await form.remember(used);
	const { seed: _, ...again } = used;
	assert.deepEqual(await draft(), again);
	assert.deepEqual((await draft({ policy: best })).problem, problem, 'a checkpoint of the same run keeps the problem');
	assert.equal(
		(await draft({ policy: server })).problem,
		undefined,
		'another policy may be unable to read the problem',
	);
	// A different strategy has different parameters and scorers.
	const beam = await draft({ strategy: 'beam' });
	assert.deepEqual([beam.strategy, beam.params, beam.guide, beam.budget], ['beam', undefined, undefined, { nodes: 7 }]);
	await form.remember({
		...used,
		strategy: 'beam',
		environment: { file: '/w/a.env.py', maxTurns: 4, turnSeconds: 10 },
	});
	assert.equal((await draft()).strategy, 'mcts', 'a search over episodes is not suggested');
	await form.remember({ ...used, environment: null });
	await form.remember({ ...used, strategy: 'reflexion', tools: [{ use: 'calculator' }] });
	assert.equal((await draft()).strategy, 'mcts', 'a search by an agent is not suggested');
	if (last.kind === 'checkpoint') await rm(last.folder, { recursive: true });
	assert.deepEqual((await draft()).policy, best, 'a deleted checkpoint is replaced by the best one');
	memory.set('searches.last', { policy: 5, budget: 'much' });
	assert.deepEqual(await draft(), { policy: best }, 'damaged saved values are ignored');
});

test('the facts about a checkpoint include held-out problems, and the steps and lengths of completions at its step', async (context) => {
	const { form, best, older } = await workspace(context);
	const facts = decodeOrThrow(policyFactsSchema, await form.facts(best), 'The facts');
	assert.deepEqual(
		[facts.source, facts.problems.length, facts.problems[0]?.prompt],
		['held-out', 32, 'What is 0 + 0?'],
	);
	// The last recorded step that the checkpoint was trained on is step 1. Two lines are too few to split, and
	// lengths were not recorded.
	assert.deepEqual(facts.sample, { completions: 24, step: 1, tokens: null, split: null });
	await rm(join(older, 'evaluations'), { recursive: true });
	assert.deepEqual((await form.facts(best)).source, 'training');
	await writeFile(rolloutPath(older, 1), 'not json\n');
	await writeFile(rolloutPath(older, 120), '');
	assert.deepEqual(await form.facts(best), nothing);
	assert.deepEqual(await form.facts(server), nothing);
	assert.deepEqual((await form.facts({ kind: 'engine', run: '/nowhere' })).sample, null);
});

test('a description that sets everything without a default starts immediately; errors are named', () => {
	const whole: SearchDraft = { policy: server, problem, strategy: 'self-consistency', budget: { nodes: 3 } };
	assert.ok(isComplete(whole));
	for (const name of ['policy', 'problem', 'strategy', 'budget'] as const) {
		assert.ok(!isComplete({ ...whole, [name]: undefined }), name);
	}
	assert.ok(!isComplete({ ...whole, strategy: 'best-of-n' }), 'best-of-n needs a scorer');
	assert.ok(isComplete({ ...whole, strategy: 'best-of-n', guide: { use: 'majority' } }));
	assert.throws(() => isComplete({ ...whole, strategy: 'luck' }), /Unknown strategy "luck"/);
	const wanted = wantedSearch({ ...whole, strategy: 'mcts', budget: { simulations: 9 }, params: { c1: 2 } });
	assert.deepEqual(wanted.spec.params, { simulations: 9, c1: 2 });
	const given = wantedSearch({ ...whole, strategy: 'mcts', budget: { simulations: 9 }, params: {} }, true);
	assert.deepEqual(given.spec.params, {}, 'the parameters of a caller take precedence');
	assert.throws(() => wantedSearch({ ...whole, problem: { ...problem, prompt: ' ' } }), /does not specify a problem/);
	assert.throws(() => wantedSearch({ ...whole, policy: undefined }), /does not specify a policy/);
	assert.throws(() => wantedSearch({ ...whole, params: { n: 0 } }), /Invalid parameters/);
	assert.ok(!decode(presetSchema, { ...whole, guide: { use: 'luck' } }).ok);

	const environment = { file: '/w/a.env.py', maxTurns: 4, turnSeconds: 10 };
	const played = { ...whole, environment, strategy: 'best-of-n', problem: { prompt: '', answer: null, row: { n: 1 } } };
	assert.ok(isComplete(played), 'an environment provides rewards');
	const { spec, problem: row } = wantedSearch(played);
	assert.deepEqual([spec.environment, spec.guide, row.row], [environment, { use: 'environment' }, { n: 1 }]);
	assert.deepEqual(wantedSearch({ ...played, guide: { use: 'majority' } }).spec.guide, { use: 'majority' });
	assert.throws(() => wantedSearch({ ...played, problem: undefined }), /does not specify a row/);
	assert.equal(wantedSearch({ ...whole, environment: null }).spec.environment, undefined);
	assert.ok(!decode(presetSchema, { ...played, environment: { ...environment, maxTurns: 0 } }).ok);
});
