import type { ParameterSpec } from '../learner.ts';
import { elementCount } from './parameters.ts';

/**
 * Parameters that are updated together on a device: their elements in order, followed by zeros. Weight decay applies
 * to either all of them or none.
 */
export interface ParameterGroup {
	readonly parameters: readonly GroupedParameter[];
	readonly decay: boolean;
	/** Number of elements, a multiple of `columns`. */
	readonly size: number;
	/** Number of elements that are summed into one when a norm is computed. */
	readonly columns: number;
}

export interface GroupedParameter {
	readonly spec: ParameterSpec;
	/** Start in the group, and in the flat vector of all parameters. */
	readonly start: number;
	readonly flatStart: number;
	readonly count: number;
}

/** Maximum number of elements (64 MiB), because WebGPU guarantees only 128 MiB for a tensor. A parameter is not split. */
const maxElements = 1 << 24;

/** Groups parameters by weight decay, in order. */
export function parameterGroups(specs: readonly ParameterSpec[], max = maxElements): ParameterGroup[] {
	let flatStart = 0;
	const placed = specs.map((spec) => {
		const count = elementCount(spec.shape);
		flatStart += count;
		return { spec, flatStart: flatStart - count, count };
	});
	return [true, false].flatMap((decay) => {
		const lists: GroupedParameter[][] = [];
		let room = 0;
		for (const { spec, flatStart, count } of placed) {
			if (spec.decay !== decay) continue;
			if (count > room || lists.length === 0) {
				lists.push([]);
				room = max;
			}
			const list = lists.at(-1) as GroupedParameter[];
			const before = list.at(-1);
			list.push({ spec, flatStart, count, start: before === undefined ? 0 : before.start + before.count });
			room -= count;
		}
		return lists.map((parameters) => groupOf(parameters, decay));
	});
}

function groupOf(parameters: readonly GroupedParameter[], decay: boolean): ParameterGroup {
	const last = parameters.at(-1) as GroupedParameter;
	const count = last.start + last.count;
	// Two sums of about equal length lose less precision to rounding than one, and run in parallel.
	const columns = 2 ** Math.ceil(Math.log2(count) / 2);
	return { parameters, decay, columns, size: Math.ceil(count / columns) * columns };
}

/** Returns a group's elements from the flat vector of all parameters. */
export function groupFromFlat({ parameters, size }: ParameterGroup, flat: Float32Array): Float32Array<ArrayBuffer> {
	const values = new Float32Array(size);
	for (const { start, flatStart, count } of parameters) values.set(flat.subarray(flatStart, flatStart + count), start);
	return values;
}

/** Inverse of `groupFromFlat`: writes a group's elements to the flat vector of all parameters. */
export function groupToFlat({ parameters }: ParameterGroup, values: Float32Array, flat: Float32Array): void {
	for (const { start, flatStart, count } of parameters) flat.set(values.subarray(start, start + count), flatStart);
}
