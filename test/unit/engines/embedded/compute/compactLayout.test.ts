import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactInputs } from '../../../../../src/engines/embedded/compute/compactLayout.ts';
import { type PlainInput, packedInputs } from '../../../../../src/engines/embedded/compute/packedLayout.ts';
import { pack } from '../../../../../src/engines/embedded/compute/packing.ts';
import { type Feeds, Session, Tensors } from '../../../../../src/engines/embedded/compute/runtime.ts';
import { expandBatch } from '../../../../../src/engines/embedded/model/expandBatch.ts';
import { Graph } from '../../../../../src/engines/embedded/onnx/graph.ts';
import { sharingRows, tinyShape } from '../computeHarness.ts';

/** Returns the feeds of a program: only the inputs that it declares. */
function feedsOf(inputs: Readonly<Record<string, PlainInput>>, declared: readonly string[], tensors: Tensors): Feeds {
	return Object.fromEntries(
		declared.map((name) => {
			const { shape, values } = inputs[name] as PlainInput;
			return [name, tensors.int32(values as Int32Array, shape)];
		}),
	);
}

test('a program expands a packed micro-batch into the inputs that the host would otherwise upload', async () => {
	const tensors = await Tensors.load();
	for (const heads of [1, 2, 3]) {
		const graph = new Graph();
		const expanded = Object.entries(expandBatch(graph, { ...tinyShape, heads }));
		for (const [name, value] of expanded) graph.output(`all ${name}`, value);
		const session = await Session.create(graph.encode(), { provider: 'cpu', threads: 1 });
		const declared = graph.model().inputs.map(({ name }) => name);
		for (const rows of [sharingRows, sharingRows.slice(0, 2), sharingRows.slice(4)]) {
			const batch = pack(rows);
			const [full, compact] = [packedInputs(batch, heads), compactInputs(batch, heads)];
			const results = await session.run(feedsOf(compact, declared, tensors));
			const direct = Object.keys(compact).filter((name) => !declared.includes(name));
			assert.deepEqual([...direct, ...expanded.map(([name]) => name)].sort(), Object.keys(full).sort());
			for (const name of direct) assert.deepEqual(compact[name], full[name]);
			for (const [name] of expanded) {
				const { dims, data } = results[`all ${name}`] ?? {};
				assert.deepEqual([name, dims, data], [name, full[name]?.shape, full[name]?.values]);
			}
		}
		await session.release();
	}
});
