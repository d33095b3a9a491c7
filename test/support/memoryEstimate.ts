/** Compares estimates of a training run's memory with measurements. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { shapeOfConfig } from '../../src/core/memory/modelShape.ts';
import { logitChunk, stageMemory } from '../../src/core/memory/stageMemory.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from './loadedPython.ts';

/** A training run of a tiny model whose sizes make one of its tensors dominate memory. */
interface Case {
	readonly name: string;
	readonly stage: 'sft' | 'grpo' | 'dpo';
	readonly config: Readonly<Record<string, unknown>>;
	readonly rows: number;
	readonly prompt: number;
	readonly completion: number;
	readonly passes: number;
	readonly attention: 'sdpa' | 'eager';
	readonly precision: 'float32' | 'bfloat16';
	readonly gradientCheckpointing: boolean;
	readonly lora: number;
	readonly beta: number;
}

const llama = (layers: number, width: number, heads: number, keyHeads: number, feedForward: number, words: number) => ({
	model_type: 'llama',
	architectures: ['LlamaForCausalLM'],
	num_hidden_layers: layers,
	hidden_size: width,
	num_attention_heads: heads,
	num_key_value_heads: keyHeads,
	intermediate_size: feedForward,
	vocab_size: words,
	max_position_embeddings: 256,
	tie_word_embeddings: false,
});
const qwen3 = {
	...llama(3, 64, 4, 2, 160, 200),
	model_type: 'qwen3',
	architectures: ['Qwen3ForCausalLM'],
	head_dim: 16,
};
const plain = {
	rows: 4,
	prompt: 16,
	completion: 48,
	passes: 1,
	attention: 'sdpa',
	precision: 'float32',
	gradientCheckpointing: false,
	lora: 0,
	beta: 0,
} as const;
const middle = llama(3, 96, 6, 2, 256, 1000);

const cases: readonly Case[] = [
	{ ...plain, name: 'activations', stage: 'sft', config: llama(4, 64, 4, 2, 160, 100), rows: 8 },
	{ ...plain, name: 'logits in chunks', stage: 'sft', config: llama(1, 16, 2, 2, 32, 8000), rows: 8 },
	{ ...plain, name: 'weights and moments', stage: 'sft', config: llama(4, 256, 4, 4, 1024, 100), rows: 1 },
	{ ...plain, name: 'activations with sampling', stage: 'grpo', config: llama(4, 64, 4, 4, 160, 100), completion: 16 },
	{ ...plain, name: 'logits of completions', stage: 'grpo', config: llama(1, 16, 2, 2, 32, 8000) },
	{
		...plain,
		name: 'keys and values, with adapters',
		stage: 'grpo',
		config: llama(6, 64, 4, 4, 64, 50),
		rows: 1,
		passes: 16,
		completion: 12,
		prompt: 32,
		lora: 2,
	},
	{
		...plain,
		name: 'a reference, in several passes',
		stage: 'grpo',
		config: middle,
		passes: 2,
		completion: 24,
		beta: 0.1,
	},
	{ ...plain, name: 'gradient checkpointing', stage: 'sft', config: middle, gradientCheckpointing: true, rows: 8 },
	{ ...plain, name: 'adapters in bfloat16', stage: 'sft', config: middle, lora: 8, precision: 'bfloat16', rows: 8 },
	{ ...plain, name: 'bfloat16', stage: 'sft', config: middle, precision: 'bfloat16' },
	{ ...plain, name: 'eager attention', stage: 'sft', config: middle, attention: 'eager', completion: 112 },
	{ ...plain, name: 'norms of queries', stage: 'sft', config: qwen3 },
	{ ...plain, name: 'pairs', stage: 'dpo', config: middle },
];

/** Returns the estimated peak in bytes. All rows have the same length, so attention has no mask. */
function estimated(one: Case): number {
	const { shape } = shapeOfConfig(one.config, one.name);
	const pairs = one.stage === 'dpo';
	const rows = pairs ? 2 * one.rows : one.rows;
	const length = one.prompt + one.completion;
	const compute = one.precision === 'float32' ? 4 : 2;
	const kept = { sft: Math.min(logitChunk, rows * one.completion), grpo: rows * one.completion, dpo: rows * length };
	return stageMemory(
		shape,
		{ compute, attention: one.attention, adapters: one.lora, padded: false },
		{ frozenBits: one.lora === 0 ? null : compute === 4 ? 32 : 16, shards: 1, replicas: 1 },
		{
			rows,
			length,
			passes: one.passes,
			logits: { tokens: kept[one.stage], classes: shape.vocabulary },
			gradientCheckpointing: one.gradientCheckpointing,
			reference: one.beta > 0 || pairs,
			generation: one.stage === 'grpo' ? { rows: rows * one.passes, prompt: one.prompt, length } : null,
		},
	).peak;
}

const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

/** Compares the estimates for the cases against measurements. */
export function testMemoryEstimate(chosen: (name: string) => boolean): void {
	describe('memory estimate', { skip }, () => compare(cases.filter(({ name }) => chosen(name))));
}

function compare(cases: readonly Case[]): void {
	let peaks: { readonly peak: number }[] = [];
	let folder = '';

	before(
		async () => {
			folder = await mkdtemp(join(tmpdir(), 'rlm-'));
			assert.ok('python' in found, JSON.stringify(found));
			const out = join(folder, 'peaks.json');
			const script = fileURLToPath(new URL('../trainer/python/measure_memory.py', import.meta.url));
			const env = { TMPDIR: folder };
			await runPython({ python: found.python, script, args: [out], input: JSON.stringify(cases), env });
			peaks = JSON.parse(await readFile(out, 'utf8'));
		},
		{ timeout: 600_000 },
	);
	after(() => rm(folder, { recursive: true, force: true }));

	for (const [i, one] of cases.entries()) {
		it(`is within 25% of the measured peak: ${one.name}`, (context) => {
			const measured = peaks[i]?.peak ?? Number.NaN;
			const ratio = estimated(one) / measured;
			context.diagnostic(`${estimated(one)} bytes estimated, ${measured} measured: ${ratio.toFixed(3)}`);
			assert.ok(ratio > 0.75 && ratio < 1.25, `${estimated(one)} estimated, ${measured} measured: ${ratio.toFixed(2)}`);
		});
	}
}
