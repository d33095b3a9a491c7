import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tokenizer } from '../../src/core/text/tokenizer.ts';
import { standardDialect } from '../../src/engines/embedded/onnx/dialect.ts';
import { Graph } from '../../src/engines/embedded/onnx/graph.ts';

/**
 * Writes a process model to a folder: model.onnx, which outputs a row of a logits table for each token, selected by the
 * token itself, and its tokenizer.json.
 */
export function writeStepModel(
	folder: string,
	tokenizer: Tokenizer,
	rows: (id: number) => number[],
	inputs: readonly string[] = ['input_ids'],
): void {
	mkdirSync(folder, { recursive: true });
	const graph = new Graph('float32', standardDialect);
	const ids = inputs.map((input) => graph.input(input, [1, 'tokens'], 'int64'))[0];
	assert.ok(ids);
	const table = Array.from({ length: tokenizer.size }, (_, id) => rows(id));
	const classes = table[0]?.length ?? 1;
	const weights = graph.constant('float32', [tokenizer.size, classes], table.flat());
	const options = { type: 'float32', attributes: { axis: 0 } } as const;
	graph.output('logits', graph.node('Gather', [weights, ids], [1, 'tokens', classes], options));
	writeFileSync(join(folder, 'model.onnx'), graph.encode());
	writeFileSync(join(folder, 'tokenizer.json'), tokenizer.toTokenizerJson());
}
