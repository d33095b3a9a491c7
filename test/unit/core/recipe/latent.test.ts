import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
	beginsLatentStage,
	latentFormAt,
	latentFormIn,
	writtenSteps,
} from '../../../../src/core/latent/latentCurriculum.ts';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../../src/core/recipe/resolve.ts';
import { buildTokenizer } from '../../../../src/core/text/vocabulary.ts';

const latent = { stages: 3, steps_per_stage: 10 };

function parsed({
	stage = {},
	after = [],
	...more
}: {
	stage?: object;
	/** Later stages. */
	after?: object[];
	template?: unknown;
	device?: string;
	engine?: string;
}) {
	const recipe = {
		...{ name: 'r', device: 'cpu', dataset: { task: 'graph-path' }, model: { layers: 1, width: 8, heads: 1 }, ...more },
		stages: [{ type: 'sft', steps: 40, learning_rate: 0.1, latent, ...stage }, ...after],
	};
	return parseRecipe(JSON.stringify(recipe));
}

function faultsOf(options: Parameters<typeof parsed>[0]): string[] {
	const result = parsed(options);
	return result.ok ? [] : result.faults.map(({ path, message }) => `${path}: ${message}`);
}

const machine = { cores: 1, resolvePath: (path: string) => path };

it('adds tokens for latent thoughts to the vocabulary, and room for them to the context', () => {
	const contextOf = (stage: object) => {
		const result = parsed({ stage });
		assert.ok(result.ok);
		const resolved = resolveRecipe(result.recipe, machine);
		assert.ok('context' in resolved.model && resolved.model.context !== null);
		return { context: resolved.model.context, template: resolved.template, stage: resolved.stages[0] };
	};
	const written = contextOf({ latent: undefined });
	const one = contextOf({});
	const two = contextOf({ latent: { ...latent, thoughts_per_step: 2 } });
	assert.equal(one.context - written.context, 3 + 2);
	assert.equal(two.context - written.context, 6 + 2);
	assert.equal(written.template.latent, undefined);
	assert.ok(one.stage?.type === 'sft');
	assert.deepEqual(one.stage.latent, { ...latent, thoughts_per_step: 1, separator: ';' });
	const { symbols } = buildTokenizer(one.template, ['ab']);
	assert.deepEqual(symbols.slice(7), ['<bot>', '<latent>', '<eot>', 'a', 'b']);
	assert.deepEqual(buildTokenizer(written.template, ['ab']).symbols.slice(7), ['a', 'b']);
});

it('replaces one more step in each stage, up to all of them', () => {
	const settings = { ...latent, thoughts_per_step: 2, separator: ';' };
	const stages = [0, 9, 10, 19, 20, 30, 39, 1000].map((update) => latentFormAt(settings, update));
	assert.deepEqual(
		stages.map(({ stage, thoughts }) => [stage, thoughts]),
		[
			[0, 0],
			[0, 0],
			[1, 2],
			[1, 2],
			[2, 4],
			[3, 6],
			[3, 6],
			[3, 6],
		],
	);
	assert.deepEqual(
		Array.from({ length: 50 }, (_, update) => update).filter((update) => beginsLatentStage(settings, update)),
		[10, 20, 30],
	);
	const written = [0, 1, 2, 3].map((stage) => writtenSteps('ab;bc;cd', { stage, thoughts: stage, separator: ';' }));
	assert.deepEqual(written, ['ab;bc;cd', 'bc;cd', 'cd', '']);
	assert.equal(writtenSteps('ab', { stage: 2, thoughts: 2, separator: ';' }), '');
});

it('evaluates in the latent form of the last update, even at the end of the run', () => {
	const settings = { ...latent, thoughts_per_step: 1, separator: ';' };
	const stages = [
		{ type: 'pretrain', steps: 5 },
		{ type: 'sft', steps: 40, latent: settings },
	];
	const stageOf = (stageIndex: number, stageStep: number) =>
		latentFormIn(stages, { stageIndex, stageStep })?.stage ?? null;
	assert.deepEqual(
		[stageOf(0, 3), stageOf(1, 0), stageOf(1, 10), stageOf(1, 11), stageOf(1, 40), stageOf(2, 0)],
		[null, 0, 0, 1, 3, 3],
	);
	assert.equal(latentFormIn(stages.slice(0, 1), { stageIndex: 1, stageStep: 0 }), null);
});

const faults: [what: string, recipe: Parameters<typeof faultsOf>[0], pattern: RegExp][] = [
	[
		'a last stage that never begins',
		{ stage: { steps: 30 } },
		/^stages\[0\]\.latent\.steps_per_stage: .* after 30 updates, but "steps" is 30\. Lower/,
	],
	['completions from a file', { stage: { data: { path: 'x.jsonl' } } }, /^stages\[0\]\.latent: .* Remove one of them/],
	[
		'a later stage without latent thoughts',
		{ after: [{ type: 'grpo', steps: 1, learning_rate: 0.1 }] },
		/^stages\[0\]\.latent: .* the next stage \("grpo"\) does not use them/,
	],
	['a device other than the CPU', { device: 'auto' }, /^stages\[0\]\.latent: .* Add "device": "cpu"/],
	['a template without think tags', { template: 'plain' }, /^stages\[0\]\.latent: The template has no think tags/],
	[
		'a tag that latent thoughts use',
		{ template: { prompt: '{prompt}', think: ['<bot>', '</bot>'], answer: null } },
		/^template: The tag "<bot>" is used for latent thoughts/,
	],
	['the pytorch engine', { engine: 'pytorch' }, /Only the embedded engine trains latent thoughts/],
	[
		'early stopping',
		{ stage: { until: { heldOutAccuracy: 0.5 } } },
		/^stages\[0\]\.until: .* steps are still written as text/,
	],
	['a prompt with think tags', { template: 'r1-conversation' }, /^template: .* contains "<think>"/],
	[
		'zero latent stages',
		{ stage: { latent: { ...latent, stages: 0 } } },
		/stages\[0\]\.latent\.stages.* must be at least 1/,
	],
];

for (const [what, recipe, pattern] of faults) {
	it(`rejects ${what}`, () => {
		const found = faultsOf(recipe);
		assert.ok(
			found.some((fault) => pattern.test(fault)),
			found.join('\n') || 'accepted',
		);
	});
}

it('accepts a recipe without these errors', () => assert.deepEqual(faultsOf({}), []));
