import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { type Arithmetic, blockActivations } from '../../../../src/core/memory/activations.ts';
import { estimateRecipe, type MemoryFacts } from '../../../../src/core/memory/estimateRecipe.ts';
import { bytesText, partsText, stageText, totalText } from '../../../../src/core/memory/memoryText.ts';
import { shapeOfConfig, shapeOfSizes } from '../../../../src/core/memory/modelShape.ts';
import { countAdapters, countParameters } from '../../../../src/core/memory/parameterCounts.ts';
import { type BatchPlan, stageMemory } from '../../../../src/core/memory/stageMemory.ts';
import { recipeOrThrow } from '../../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../../src/core/recipe/resolve.ts';

/** Published configurations and the parameter counts of their models. */
const published: readonly [name: string, parameters: number, config: object][] = [
	[
		'Qwen2.5-0.5B',
		494_032_768,
		{
			model_type: 'qwen2',
			hidden_size: 896,
			num_hidden_layers: 24,
			num_attention_heads: 14,
			num_key_value_heads: 2,
			intermediate_size: 4864,
			vocab_size: 151_936,
			tie_word_embeddings: true,
		},
	],
	[
		'Qwen3-0.6B',
		596_049_920,
		{
			model_type: 'qwen3',
			hidden_size: 1024,
			num_hidden_layers: 28,
			num_attention_heads: 16,
			num_key_value_heads: 8,
			head_dim: 128,
			intermediate_size: 3072,
			vocab_size: 151_936,
			tie_word_embeddings: true,
		},
	],
	[
		'Llama-3.2-1B',
		1_235_814_400,
		{
			model_type: 'llama',
			hidden_size: 2048,
			num_hidden_layers: 16,
			num_attention_heads: 32,
			num_key_value_heads: 8,
			intermediate_size: 8192,
			vocab_size: 128_256,
			tie_word_embeddings: true,
		},
	],
	[
		'Llama-3-8B',
		8_030_261_248,
		{
			model_type: 'llama',
			hidden_size: 4096,
			num_hidden_layers: 32,
			num_attention_heads: 32,
			num_key_value_heads: 8,
			intermediate_size: 14_336,
			vocab_size: 128_256,
			tie_word_embeddings: false,
		},
	],
	[
		'gemma-2-2b',
		2_614_341_888,
		{
			model_type: 'gemma2',
			hidden_size: 2304,
			num_hidden_layers: 26,
			num_attention_heads: 8,
			num_key_value_heads: 4,
			head_dim: 256,
			intermediate_size: 9216,
			vocab_size: 256_000,
			hidden_activation: 'gelu_pytorch_tanh',
		},
	],
	[
		'gpt2',
		124_439_808,
		{
			model_type: 'gpt2',
			n_embd: 768,
			n_layer: 12,
			n_head: 12,
			n_positions: 1024,
			vocab_size: 50_257,
			activation_function: 'gelu_new',
		},
	],
	[
		'Mixtral-8x7B',
		46_702_792_704,
		{
			model_type: 'mixtral',
			hidden_size: 4096,
			num_hidden_layers: 32,
			num_attention_heads: 32,
			num_key_value_heads: 8,
			intermediate_size: 14_336,
			vocab_size: 32_000,
			num_local_experts: 8,
			num_experts_per_tok: 2,
			tie_word_embeddings: false,
		},
	],
];
const shapeOf = (name: string) => shapeOfConfig(published.find(([one]) => one === name)?.[2], name).shape;

describe('parameters', () => {
	for (const [name, parameters, config] of published) {
		it(`are counted for ${name}`, () => {
			assert.equal(countParameters(shapeOfConfig(config, name).shape).total, parameters);
		});
	}

	it('match peft for adapters', () => {
		assert.equal(countAdapters(shapeOf('Qwen2.5-0.5B'), 16), 8_798_208);
	});

	it('match the embedded engine for a new model', () => {
		const shape = shapeOfSizes({ layers: 4, width: 128, heads: 4, feedForward: 512, context: 50 }, 20);
		// Embeddings for 20 symbols and 50 positions, the output matrix, four blocks with 12 width^2 and two norms
		// each, and the last norm.
		assert.equal(countParameters(shape).total, 20 * 128 + 50 * 128 + 20 * 128 + 4 * (12 * 128 ** 2 + 2 * 128) + 128);
	});

	it('cannot be counted with missing or invalid sizes, and the error names the file', () => {
		for (const bad of [null, [], 'x', {}, { hidden_size: 'wide' }, { hidden_size: -1, vocab_size: 1e12 }]) {
			assert.throws(
				() => shapeOfConfig(bad, 'm/config.json'),
				(error) => error instanceof Failure && error.message.includes('m/config.json'),
			);
		}
	});
});

describe('block activations', () => {
	const sizes = {
		hidden_size: 128,
		num_hidden_layers: 4,
		num_attention_heads: 8,
		intermediate_size: 384,
		vocab_size: 128,
	};
	const grouped = { ...sizes, model_type: 'llama', num_key_value_heads: 2 };
	const plain: Arithmetic = { compute: 4, attention: 'sdpa', adapters: 0, padded: false };
	/** Bytes per token that PyTorch 2.13 with transformers 5.18 keeps on a CPU, for 64 tokens. */
	const kept: readonly [what: string, bytes: number, config: object, how: Partial<Arithmetic>][] = [
		['grouped queries', 10_536, grouped, {}],
		['padding', 11_560, grouped, { padded: true }],
		['eager', 13_320, grouped, { attention: 'eager' }],
		// Without the weight copies, which are counted separately: 8552 - 1472, 11976 - 1472.
		['autocast', 7_080, grouped, { compute: 2 }],
		['eager under autocast', 10_504, grouped, { compute: 2, attention: 'eager' }],
		['ungrouped', 11_304, { ...grouped, num_key_value_heads: 8 }, {}],
		['query norms', 11_856, { ...grouped, model_type: 'qwen3', head_dim: 16 }, {}],
		['query norms under autocast', 8_080, { ...grouped, model_type: 'qwen3', head_dim: 16 }, { compute: 2 }],
		['four norms', 12_600, { ...grouped, model_type: 'gemma2', head_dim: 16 }, {}],
		['adapters', 9_736, grouped, { adapters: 8 }],
		// 6572, including 148 for copies of the adapters.
		['adapters under autocast', 6_424, grouped, { adapters: 8, compute: 2 }],
		['eager adapters under autocast', 9_592, grouped, { adapters: 8, compute: 2, attention: 'eager' }],
		['the embedded engine', 9_256, { ...sizes, model_type: 'reasoning-lab', intermediate_size: 512 }, {}],
		[
			'the embedded engine under autocast',
			5_672,
			{ ...sizes, model_type: 'reasoning-lab', intermediate_size: 512 },
			{ compute: 2 },
		],
		['gpt2', 14_384, { ...sizes, model_type: 'gpt2', intermediate_size: 512, activation_function: 'gelu_new' }, {}],
	];
	for (const [what, bytes, config, how] of kept) {
		it(`match measurements: ${what}`, () => {
			const { shape } = shapeOfConfig(config, what);
			const ratio = blockActivations(shape, { ...plain, ...how }, 64) / bytes;
			assert.ok(Math.abs(ratio - 1) < 0.001, `${ratio}`);
		});
	}
});

describe('stage memory', () => {
	const shape = shapeOf('Qwen2.5-0.5B');
	const how: Arithmetic = { compute: 2, attention: 'sdpa', adapters: 0, padded: true };
	const whole = { frozenBits: null, shards: 1, replicas: 1 } as const;
	const batch: BatchPlan = {
		rows: 8,
		length: 512,
		passes: 1,
		logits: { tokens: 8 * 256, classes: shape.vocabulary },
		gradientCheckpointing: false,
		reference: false,
		generation: { rows: 64, prompt: 256, length: 512 },
	};
	const total = countParameters(shape).total;

	it('takes 16 bytes per parameter in an update', () => {
		assert.equal(stageMemory(shape, how, whole, batch).moments.optimizer, 16 * total);
	});

	it('shards weights, gradients and moments under FSDP, and adds buckets under DDP', () => {
		const sharded = stageMemory(shape, how, { ...whole, shards: 4 }, batch);
		assert.equal(sharded.parts.weights, total);
		assert.equal(sharded.parts.optimizer, 2 * total);
		assert.ok((sharded.parts.gathered ?? 0) > 0);
		const replicated = stageMemory(shape, how, { ...whole, replicas: 4 }, batch);
		assert.equal(replicated.parts.buckets, 4 * total);
	});

	it('decreases with checkpointing, adapters and quantized weights, and increases with a reference model and length', () => {
		const peak = (more: Partial<BatchPlan>, weights: Parameters<typeof stageMemory>[2] = whole, adapters = 0) =>
			stageMemory(shape, { ...how, adapters }, weights, { ...batch, ...more }).peak;
		const plain = peak({});
		const checkpointed = peak({ gradientCheckpointing: true });
		assert.ok(checkpointed < plain);
		assert.ok(peak({ reference: true }) - plain === 4 * total);
		assert.ok(peak({ length: 1024 }) > plain && peak({ passes: 2 }) > plain);
		const [four, eight, sixteen] = ([4, 8, 16] as const).map((frozenBits) => peak({}, { ...whole, frozenBits }, 16));
		assert.ok((four ?? 0) < (eight ?? 0) && (eight ?? 0) < (sixteen ?? 0) && (sixteen ?? 0) < plain);
		// With adapters, the reference is the model without them.
		assert.equal(peak({ reference: true }, { ...whole, frozenBits: 16 }, 16), sixteen);
	});

	it('peaks during sampling if keys and values dominate', () => {
		const memory = stageMemory(shape, how, whole, {
			...batch,
			rows: 1,
			logits: { tokens: 8, classes: 10 },
			generation: { rows: 4096, prompt: 16, length: 2048 },
		});
		assert.equal(memory.moment, 'generation');
		// Grouped queries: two heads of 64 in each of 24 blocks, keys and values, float32; one block has them twice.
		assert.equal(memory.parts.cache, 4096 * 2048 * 2 * 4 * 2 * 64 * 25);
	});

	it('includes a separate sampling model in every phase', () => {
		const before = stageMemory(shape, how, whole, batch);
		const ahead = stageMemory(shape, how, whole, { ...batch, ahead: true });
		assert.equal(ahead.parts.sampler, 4 * total);
		const sampling =
			before.moments.generation - stageMemory(shape, how, whole, { ...batch, generation: null }).moments.generation;
		for (const moment of ['backward', 'optimizer'] as const) {
			assert.equal(ahead.moments[moment], before.moments[moment] + 4 * total + sampling);
		}
		assert.equal(ahead.moments.generation, before.moments.generation + 4 * total);
	});

	it('has parts that add up to its peak', () => {
		const { parts, peak } = stageMemory(shape, how, whole, batch);
		assert.equal(
			Object.values(parts).reduce((sum, bytes) => sum + bytes, 0),
			peak,
		);
	});
});

describe('recipe estimate', () => {
	const machine = { cores: 2, resolvePath: (path: string) => `/p/${path}` };
	const recipe = (changes: object = {}) =>
		resolveRecipe(
			recipeOrThrow(
				JSON.stringify({
					name: 'a',
					engine: 'pytorch',
					dataset: { preset: 'gsm8k' },
					model: { path: 'Qwen/Qwen2.5-0.5B' },
					stages: [
						{ type: 'sft', steps: 4, learning_rate: 1e-5, batch_size: 16 },
						{ type: 'grpo', steps: 4, learning_rate: 1e-6, max_completion_length: 256 },
					],
					...changes,
				}),
				'a',
			).recipe,
			machine,
		);
	const facts: MemoryFacts = {
		model: shapeOfConfig(published[0]?.[2], 'config'),
		promptTokens: null,
		textTokens: null,
		device: 'cuda',
		deviceBytes: 80 * 2 ** 30,
	};

	it('reports that a run does not fit, and a micro-batch size that would', () => {
		const estimate = estimateRecipe(recipe(), facts);
		assert.equal(estimate.fits, false);
		assert.equal(estimate.precision, 'bfloat16');
		assert.match(estimate.advice ?? '', /^It would fit with "microBatch": \d+ in "pytorch"\.$/);
		const size = Number(/\d+/.exec(estimate.advice ?? '')?.[0]);
		const smaller = estimateRecipe(recipe({ pytorch: { microBatch: size } }), facts);
		assert.deepEqual([smaller.fits, smaller.advice], [true, null]);
		assert.equal(estimateRecipe(recipe({ pytorch: { microBatch: 2 * size } }), facts).fits, false);
		assert.match(estimateRecipe(recipe(), { ...facts, deviceBytes: 2 ** 30 }).advice ?? '', /Use a smaller model/);
	});

	it('states its assumptions', () => {
		const notes = (changes: object, more: Partial<MemoryFacts> = {}) =>
			estimateRecipe(recipe(changes), { ...facts, ...more }).notes.join('\n');
		assert.match(notes({}), /Assumes prompts of 256 tokens/);
		assert.match(notes({}), /Assumes training examples of "maxLength" \(1024\) tokens/);
		assert.equal(notes({}, { promptTokens: 100, textTokens: 200 }), '');
		assert.match(notes({ pytorch: { processes: 2 } }), /not measured/);
		assert.match(notes({ pytorch: { lora: { targets: ['q_proj'] } } }), /an adapter on every matrix/);
		const odd = shapeOfConfig({ ...published[0]?.[2], model_type: 'strange' }, 'config');
		assert.match(notes({}, { model: odd }), /Unknown model family "strange"/);
	});

	it('counts micro-batches as the trainer does, and all processes on a machine', () => {
		const rows = (changes: object) => estimateRecipe(recipe(changes), facts).stages.map((stage) => stage.rows);
		assert.deepEqual(rows({}), [16, 128]);
		assert.deepEqual(rows({ pytorch: { microBatch: 4 } }), [4, 4]);
		assert.deepEqual(rows({ pytorch: { processes: 4 } }), [4, 32]);
		const cpu = { ...facts, device: 'cpu' } as const;
		const one = estimateRecipe(recipe({ pytorch: { microBatch: 1 } }), cpu);
		const two = estimateRecipe(recipe({ pytorch: { microBatch: 1, processes: 2 } }), cpu);
		assert.equal(one.precision, 'float32');
		assert.ok(two.total > 1.5 * one.total);
	});

	it("reserves vLLM's share of the GPU", () => {
		const estimate = estimateRecipe(recipe({ pytorch: { vllm: { memory: 0.5 }, microBatch: 1 } }), facts);
		assert.equal(estimate.vllm, 40 * 2 ** 30);
	});

	it('does not cover the embedded engine', () => {
		const embedded = { engine: 'embedded', dataset: { task: 'addition' }, model: { layers: 1, width: 16, heads: 2 } };
		assert.throws(() => estimateRecipe(recipe(embedded), facts), /for the pytorch and ray engines/);
	});

	it('is formatted as text', () => {
		assert.deepEqual([0, 1023, 1024, 1.5 * 2 ** 20, 259 * 2 ** 30].map(bytesText), [
			'0 bytes',
			'1023 bytes',
			'1.0 KiB',
			'1.5 MiB',
			'259 GiB',
		]);
		const estimate = estimateRecipe(recipe(), facts);
		const [, grpo] = estimate.stages;
		assert.ok(grpo);
		assert.match(stageText(grpo), /^Stage 2 \(grpo\): \d+ GiB in the backward pass, 128 rows of 512 tokens$/);
		assert.match(partsText(grpo.parts), /^(logits|activations) \d+ GiB, .*weights 1\.8 GiB/);
		assert.match(totalText(estimate), /^The run needs about \d+ GiB, but the GPU has only 80\.0 GiB\.$/);
		assert.match(totalText({ ...estimate, deviceBytes: null, fits: null }), /^The run needs about \d+ GiB\.$/);
	});
});
