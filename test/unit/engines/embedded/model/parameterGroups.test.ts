import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	groupFromFlat,
	groupToFlat,
	parameterGroups,
} from '../../../../../src/engines/embedded/model/parameterGroups.ts';
import { countOf, parameterSpecs } from '../../../../../src/engines/embedded/model/parameters.ts';
import { tinyShape } from '../computeHarness.ts';

const specs = parameterSpecs(tinyShape);

test('groups contain every parameter once, separated by weight decay, and no more elements than a tensor may have', () => {
	for (const max of [1, 100, 300, 1 << 24]) {
		const groups = parameterGroups(specs, max);
		const names = groups.flatMap(({ parameters }) => parameters.map(({ spec }) => spec.name));
		assert.deepEqual(names.sort(), specs.map(({ name }) => name).sort());
		for (const { parameters, decay, size, columns } of groups) {
			assert.ok(parameters.every(({ spec }) => spec.decay === decay));
			const count = parameters.reduce((sum, parameter) => sum + parameter.count, 0);
			assert.ok(count <= max || parameters.length === 1, `${count} elements, at most ${max}`);
			assert.ok(size % columns === 0 && size >= count && size < count + columns);
		}
	}
	assert.equal(parameterGroups(specs).length, 2);
});

test('a flat vector is unchanged by splitting it into groups and joining them', () => {
	const flat = Float32Array.from({ length: countOf(specs) }, (_, i) => i + 1);
	const joined = new Float32Array(flat.length);
	for (const group of parameterGroups(specs, 200)) groupToFlat(group, groupFromFlat(group, flat), joined);
	assert.deepEqual(joined, flat);
});
