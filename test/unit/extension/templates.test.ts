import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { estimateRecipe } from '../../../src/core/memory/estimateRecipe.ts';
import { totalText } from '../../../src/core/memory/memoryText.ts';
import { shapeOfConfig } from '../../../src/core/memory/modelShape.ts';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../src/core/recipe/resolve.ts';
import { auditReward, defaultAuditRows } from '../../../src/rewards/auditReward.ts';
import type { RewardRunner } from '../../../src/rewards/rewardRunner.ts';
import { RewardVerifier } from '../../../src/rewards/rewardVerifier.ts';
import type { VerificationPlan } from '../../../src/rewards/verificationPlan.ts';
import { isSound } from '../../../src/rewards/verifyReward.ts';
import { memoryFacts } from '../../../src/runs/memoryFacts.ts';
import { calculatorRows, guessRows } from '../../scripts/environmentRows.ts';
import { r1DataText } from '../../scripts/r1Data.ts';
import { context, openHosts, rewardFolder } from '../rewards/hostFixtures.ts';

const media = join(import.meta.dirname, '../../../media');
const starter = join(media, 'templates/starter');
const text = readFileSync(join(starter, 'starter.recipe.json'), 'utf8');

test('the cold-start accuracy in recipe comments and pages matches the recipe', () => {
	const recipes = [
		'demo/addition',
		'pytorch/small',
		'expert-iteration/expert-iteration',
		'algorithms/algorithms',
		'curriculum/curriculum',
		'no-labels/no-labels',
	];
	for (const name of recipes) {
		const recipe = readFileSync(join(media, `templates/${name}.recipe.json`), 'utf8');
		const [, set] = /"heldOutAccuracy": ([\d.]+)/.exec(recipe) ?? [];
		const page = readFileSync(join(media, 'templates', name.split('/')[0] as string, 'README.md'), 'utf8');
		const said = [...`${recipe}\n${page}`.matchAll(/(\d+)% of (?:the|its) held-out problems/g)].map(([, share]) =>
			Number(share),
		);
		assert.ok(said.length > 0, name);
		assert.deepEqual([...new Set(said)], [Math.round(100 * Number(set))], name);
	}
});

test('the comments on rewards in the starter recipe are true', async () => {
	const parsed = parseRecipe(text);
	assert.ok(parsed.ok, JSON.stringify(parsed));
	const { rewards } = parsed.recipe;
	assert.deepEqual(rewards, [
		{ use: 'accuracy' },
		{ use: 'format', weight: 0.2 },
		{ file: 'rewards/steps.reward.ts', weight: 0.1 },
	]);
	const hosts = await openHosts();
	const builtIns = hosts.open({
		builtIns: [
			{ use: 'accuracy', name: 'accuracy' },
			{ use: 'format', name: 'format' },
		],
		context,
	});
	const steps = hosts.open({ file: join(starter, 'rewards/steps.reward.ts'), context });
	const scoresOf = async (completion: string) => {
		const row = { prompt: '2*7+31', completion, answer: '45', row: {}, truncated: false };
		const scored = [
			await builtIns.score('accuracy', [row]),
			await builtIns.score('format', [row]),
			await steps.score('steps', [row]),
		];
		assert.deepEqual(
			scored.flatMap(({ errors }) => errors),
			[],
		);
		return scored.map(({ values }) => values[0]);
	};
	assert.deepEqual(await scoresOf('<think>2*7=14 14+31=45</think><answer>45</answer>'), [1, 1, 1]);
	for (const same of [' 45 ', '45.0', '90/2']) {
		assert.deepEqual((await scoresOf(`<think>x</think><answer>${same}</answer>`)).slice(0, 2), [1, 1], same);
	}
	assert.deepEqual(await scoresOf('<think>2*7=15 15+31=46</think><answer>46</answer>'), [0, 1, 0.5]);
	assert.deepEqual(await scoresOf('<think>x</think><answer></answer>'), [0, 0, 0]);
	assert.deepEqual(await scoresOf('<think>x</think>so <answer>45</answer>'), [1, 0, 0]);
	assert.deepEqual(await scoresOf('<answer>45</answer>'), [1, 0, 0]);
});

for (const file of ['steps.reward.ts', 'concise.reward.py']) {
	test(`the starter's ${file} passes its cases, rewards only correct answers, and passes the audit`, async () => {
		const hosts = await openHosts();
		const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
		const plan = await verifier.plan({
			file: join(starter, 'rewards', file),
			folders: [starter],
			what: { kind: 'data' },
		});
		const runner = verifier.open(plan);
		const { verifications } = await verifier.verify(plan, runner);
		const [verification] = verifications;
		assert.ok(verification && isSound(verification), JSON.stringify(verification?.faults));
		assert.ok(verification.statistics.cases.passed >= 3);
		const { agreement } = verification.statistics;
		assert.ok(agreement !== null && agreement.problems >= 20 && agreement.agreed === agreement.problems);
		assert.deepEqual(await findings(plan, runner, verification.reward), []);
		verifier.dispose();
	});
}

for (const extension of ['ts', 'py']) {
	test(`a new reward from the ${extension} template passes its cases and the audit`, async () => {
		const folder = await rewardFolder();
		const template = join(media, 'templates/reward');
		const source = readFileSync(join(template, `reward.${extension}`), 'utf8').replaceAll('__NAME__', 'brevity');
		// Copied next to a recipe whose dataset it uses.
		await cp(starter, folder, { recursive: true });
		const file = join(folder, 'rewards', `brevity.reward.${extension}`);
		await writeFile(file, source);
		await cp(join(template, 'cases.jsonl'), join(folder, 'rewards/brevity.cases.jsonl'));
		const hosts = await openHosts();
		const verifier = new RewardVerifier((from, limits) => hosts.open(from, limits));
		const plan = await verifier.plan({ file, folders: [folder], what: { kind: 'data' } });
		const runner = verifier.open(plan);
		const [description] = await runner.describe();
		assert.equal(description?.name, 'brevity');
		assert.equal(description?.weight, 0.1);
		const { verifications } = await verifier.verify(plan, runner);
		assert.deepEqual(verifications[0]?.statistics.cases, { passed: 4, failed: 0 });
		assert.deepEqual(await findings(plan, runner, 'brevity'), []);
		verifier.dispose();
	});
}

/** Returns the audit findings; a template must not be exploitable, because new rewards start from it. */
async function findings(plan: VerificationPlan, runner: RewardRunner, reward: string): Promise<string[]> {
	const { data, described, remarks } = plan;
	const report = await auditReward(runner, {
		file: data.file,
		reward,
		problems: plan.problems.slice(0, defaultAuditRows),
		template: data.template,
		verify: data.verify,
		data: described,
		remarks,
	});
	assert.ok(report.probes.filter(({ outcome }) => outcome === 'held').length >= 60);
	return report.findings.map(({ probe }) => probe);
}

test('the starter dataset matches the description in its recipe', () => {
	const rows = readFileSync(join(starter, 'data/train.jsonl'), 'utf8').trim().split('\n');
	for (const row of rows) {
		const { prompt, answer, solution } = JSON.parse(row) as Record<string, string>;
		assert.ok(prompt && answer && solution?.endsWith(`=${answer}`), row);
	}
});

test('the PyTorch recipes are valid, run on a CPU or fit on one GPU, and match their README', async () => {
	const folder = join(media, 'templates/pytorch');
	const machine = { cores: 2, resolvePath: (path: string) => join(folder, path) };
	const read = (name: string) => {
		const parsed = parseRecipe(readFileSync(join(folder, name), 'utf8'));
		assert.ok(parsed.ok, JSON.stringify(parsed));
		return resolveRecipe(parsed.recipe, machine);
	};
	const small = read('small.recipe.json');
	const { model, promptTokens, textTokens } = await memoryFacts(small);
	const here = estimateRecipe(small, { model, promptTokens, textTokens, device: 'cpu', deviceBytes: 2 ** 31 });
	assert.ok(here.fits, JSON.stringify(here));
	assert.ok(here.parameters < 1_000_000);
	const gsm8k = read('gsm8k.recipe.json');
	assert.deepEqual(
		[gsm8k.model, 'path' in gsm8k.dataset && gsm8k.dataset.path],
		[{ path: 'Qwen/Qwen2.5-0.5B-Instruct' }, 'openai/gsm8k'],
	);
	const config = {
		...{
			model_type: 'qwen2',
			hidden_size: 896,
			num_hidden_layers: 24,
			num_attention_heads: 14,
			num_key_value_heads: 2,
		},
		...{ intermediate_size: 4864, vocab_size: 151_936, tie_word_embeddings: true },
	};
	const gpu = { promptTokens: null, textTokens: null, device: 'cuda', deviceBytes: 16 * 2 ** 30 } as const;
	const there = estimateRecipe(gsm8k, { model: shapeOfConfig(config, 'config'), ...gpu });
	assert.ok(there.fits, totalText(there));
	assert.equal(there.trained, 8_798_208);
	const readme = readFileSync(join(folder, 'README.md'), 'utf8');
	for (const named of ['small.recipe.json', 'gsm8k.recipe.json']) assert.ok(readme.includes(named));
});

test('the R1 pipelines have the same stages, claims that evaluation stages can check, and their own data', () => {
	const folder = join(media, 'templates/r1');
	const read = (name: string) => {
		const parsed = parseRecipe(readFileSync(join(folder, name), 'utf8'));
		assert.ok(parsed.ok && parsed.pipeline !== null, JSON.stringify(parsed));
		return parsed.pipeline;
	};
	const [whole, quick] = [read('r1.recipe.json'), read('r1-quick.recipe.json')];
	const shape = ({ stages }: typeof whole) => stages.map(({ name, type, from }) => ({ name, type, from }));
	assert.deepEqual(shape(quick), shape(whole));
	assert.deepEqual(quick.compare, whole.compare);
	assert.ok((whole.compare?.length ?? 0) >= 5);
	const minutes = whole.stages.map((stage) => stage.minutes ?? 0);
	assert.ok(minutes.reduce((sum, max) => sum + max) <= 28, 'the pipeline fits in half an hour, with its evaluations');
	assert.ok(
		whole.stages.every(({ type, minutes: max }) => type === 'evaluate' || type === 'rejection-sampling' || max),
	);
	assert.equal(
		readFileSync(join(folder, 'data/general.jsonl'), 'utf8'),
		r1DataText(),
		'run test/scripts/writeR1Data.ts',
	);
	const readme = readFileSync(join(folder, 'README.md'), 'utf8');
	for (const { name } of whole.stages.filter(({ type }) => type !== 'evaluate'))
		assert.ok(readme.includes(`\`${name}\``), name);
});

test("the environments' rows match those from the script, and their recipes are valid", () => {
	const folder = join(media, 'templates/environments');
	assert.equal(readFileSync(join(folder, 'guess.rows.jsonl'), 'utf8'), guessRows());
	assert.equal(readFileSync(join(folder, 'calculator.rows.jsonl'), 'utf8'), calculatorRows());
	for (const name of ['guess', 'calculator']) {
		const parsed = parseRecipe(readFileSync(join(folder, `${name}.recipe.json`), 'utf8'));
		assert.ok(parsed.ok, JSON.stringify(parsed));
	}
});
