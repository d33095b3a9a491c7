import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packedInputs } from '../../../../../src/engines/embedded/compute/packedLayout.ts';
import { pack } from '../../../../../src/engines/embedded/compute/packing.ts';
import { ProgramFeeds } from '../../../../../src/engines/embedded/compute/programFeeds.ts';
import { Session, Tensors } from '../../../../../src/engines/embedded/compute/runtime.ts';
import { expandedInputs, expandProgram } from '../../../../../src/engines/embedded/model/expandProgram.ts';
import { residentName } from '../../../../../src/engines/embedded/model/residentName.ts';
import { cpuDialect } from '../../../../../src/engines/embedded/onnx/dialect.ts';
import { sharingRows, tinyShape } from '../computeHarness.ts';

test('a device computes the inputs of a packed micro-batch that the host would upload', async () => {
	const tensors = await Tensors.load();
	for (const heads of [1, 2, 3]) {
		const shape = { ...tinyShape, heads };
		const session = await Session.create(expandProgram(shape, cpuDialect).encode(), { provider: 'cpu', threads: 1 });
		const feeds = new ProgramFeeds(shape, tensors);
		for (const rows of [sharingRows, sharingRows.slice(0, 2), sharingRows.slice(4)]) {
			const batch = pack(rows);
			const full = packedInputs(batch, heads);
			const { direct, compact } = feeds.compact(batch);
			const expanded = await session.run(compact);
			assert.deepEqual([...Object.keys(direct), ...expandedInputs].sort(), Object.keys(full).sort());
			for (const [name, { shape, values }] of Object.entries(full)) {
				const tensor = direct[name] ?? expanded[residentName(name)];
				assert.deepEqual([name, tensor?.dims, tensor?.data], [name, shape, values]);
			}
		}
		await session.release();
	}
});
