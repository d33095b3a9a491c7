import type { VisibleTree } from './visibleTree.ts';

/** Relations between nodes, indexed by place; -1 if there is none. */
interface Links {
	readonly size: number;
	/** Virtual root above all roots, not drawn. */
	readonly top: number;
	readonly up: Int32Array;
	/** First and last child. */
	readonly first: Int32Array;
	readonly last: Int32Array;
	/** Previous and next sibling, and the number of previous siblings. */
	readonly before: Int32Array;
	readonly after: Int32Array;
	readonly rank: Int32Array;
}

function linksOf({ count, parent }: VisibleTree): Links {
	// Virtual root above all roots, not drawn.
	const top = count;
	const size = count + 1;
	const up = new Int32Array(size);
	const first = new Int32Array(size).fill(-1);
	const last = new Int32Array(size).fill(-1);
	const before = new Int32Array(size).fill(-1);
	const rank = new Int32Array(size);
	for (let i = 0; i < count; i++) {
		const above = parent[i] === -1 ? top : (parent[i] as number);
		up[i] = above;
		const sibling = last[above] as number;
		if (sibling === -1) first[above] = i;
		else {
			before[i] = sibling;
			rank[i] = (rank[sibling] as number) + 1;
		}
		last[above] = i;
	}
	up[top] = -1;
	const after = new Int32Array(size).fill(-1);
	for (let i = 0; i < count; i++) if (before[i] !== -1) after[before[i] as number] = i;
	return { size, top, up, first, last, before, after, rank };
}

/**
 * The part of the algorithm that moves subtrees apart. Keeps the paper's per-node values in arrays indexed by place.
 */
function spacing({ size, up, first, last, before, rank }: Links, cousins: number) {
	const prelim = new Float64Array(size);
	const mod = new Float64Array(size);
	const change = new Float64Array(size);
	const shift = new Float64Array(size);
	const thread = new Int32Array(size).fill(-1);
	const ancestor = new Int32Array(size);
	const defaultAncestor = new Int32Array(size).fill(-1);
	for (let i = 0; i < size; i++) ancestor[i] = i;

	const apart = (a: number, b: number): number => (up[a] === up[b] ? 1 : cousins);
	const nextLeft = (v: number): number => (first[v] === -1 ? (thread[v] as number) : (first[v] as number));
	const nextRight = (v: number): number => (last[v] === -1 ? (thread[v] as number) : (last[v] as number));
	const add = (values: Float64Array, i: number, value: number): void => {
		values[i] = (values[i] as number) + value;
	};

	function executeShifts(v: number): void {
		let [moved, rate] = [0, 0];
		for (let child = last[v] as number; child !== -1; child = before[child] as number) {
			add(prelim, child, moved);
			add(mod, child, moved);
			rate += change[child] as number;
			moved += (shift[child] as number) + rate;
		}
	}

	function moveSubtree(from: number, to: number, by: number): void {
		const share = by / ((rank[to] as number) - (rank[from] as number));
		add(change, to, -share);
		add(shift, to, by);
		add(change, from, share);
		add(prelim, to, by);
		add(mod, to, by);
	}

	function apportion(v: number): void {
		const left = before[v] as number;
		const above = up[v] as number;
		if (left === -1) return;
		let insideRight = v;
		let outsideRight = v;
		let insideLeft = left;
		let outsideLeft = first[above] as number;
		let sumInsideRight = mod[insideRight] as number;
		let sumOutsideRight = mod[outsideRight] as number;
		let sumInsideLeft = mod[insideLeft] as number;
		let sumOutsideLeft = mod[outsideLeft] as number;
		for (;;) {
			const [deeperLeft, deeperRight] = [nextRight(insideLeft), nextLeft(insideRight)];
			if (deeperLeft === -1 || deeperRight === -1) break;
			insideLeft = deeperLeft;
			insideRight = deeperRight;
			outsideLeft = nextLeft(outsideLeft);
			outsideRight = nextRight(outsideRight);
			ancestor[outsideRight] = v;
			const by =
				(prelim[insideLeft] as number) +
				sumInsideLeft -
				(prelim[insideRight] as number) -
				sumInsideRight +
				apart(insideLeft, insideRight);
			if (by > 0) {
				const owner = ancestor[insideLeft] as number;
				const mover = up[owner] === above ? owner : (defaultAncestor[above] as number);
				moveSubtree(mover, v, by);
				sumInsideRight += by;
				sumOutsideRight += by;
			}
			sumInsideLeft += mod[insideLeft] as number;
			sumInsideRight += mod[insideRight] as number;
			sumOutsideLeft += mod[outsideLeft] as number;
			sumOutsideRight += mod[outsideRight] as number;
		}
		if (nextRight(insideLeft) !== -1 && nextRight(outsideRight) === -1) {
			thread[outsideRight] = nextRight(insideLeft);
			add(mod, outsideRight, sumInsideLeft - sumOutsideRight);
		}
		if (nextLeft(insideRight) !== -1 && nextLeft(outsideLeft) === -1) {
			thread[outsideLeft] = nextLeft(insideRight);
			add(mod, outsideLeft, sumInsideRight - sumOutsideLeft);
			defaultAncestor[above] = v;
		}
	}

	return { prelim, mod, apart, defaultAncestor, executeShifts, apportion };
}

/**
 * Computes positions across the depth axis, packing siblings and cousins as closely as allowed: Buchheim, Jünger and
 * Leipert, "Improving Walker's Algorithm to Run in Linear Time", 2002. Uses arrays indexed by place and no recursion,
 * because d3's implementation creates an object per node, and chains of thoughts can be deeper than the stack. Unit:
 * sibling distance. The root of the first tree is at 0.
 *
 * @param cousins distance between neighbors with different parents
 */
export function tidyBreadths(tree: VisibleTree, cousins = 1.3): Float64Array {
	const { count } = tree;
	const links = linksOf(tree);
	const { size, top, up, first, last, before, after } = links;
	const { prelim, mod, apart, defaultAncestor, executeShifts, apportion } = spacing(links, cousins);

	function place(v: number): void {
		const left = before[v] as number;
		if (first[v] === -1) {
			if (left !== -1) prelim[v] = (prelim[left] as number) + apart(v, left);
		} else {
			executeShifts(v);
			const middle = ((prelim[first[v] as number] as number) + (prelim[last[v] as number] as number)) / 2;
			if (left === -1) prelim[v] = middle;
			else {
				prelim[v] = (prelim[left] as number) + apart(v, left);
				mod[v] = (prelim[v] as number) - middle;
			}
		}
		if (v === top) return;
		const above = up[v] as number;
		if (defaultAncestor[above] === -1) defaultAncestor[above] = first[above] as number;
		apportion(v);
	}

	// Postorder from the left: descend to a leaf, place it, then move to its sibling, or up if there is none.
	let v = top;
	while (first[v] !== -1) v = first[v] as number;
	for (;;) {
		place(v);
		if (v === top) break;
		if (after[v] === -1) v = up[v] as number;
		else {
			v = after[v] as number;
			while (first[v] !== -1) v = first[v] as number;
		}
	}

	const breadths = new Float64Array(count);
	const sums = new Float64Array(size);
	sums[top] = mod[top] as number;
	for (let i = 0; i < count; i++) {
		const above = up[i] as number;
		breadths[i] = (prelim[i] as number) + (sums[above] as number);
		sums[i] = (sums[above] as number) + (mod[i] as number);
	}
	const origin = breadths[0] ?? 0;
	return breadths.map((breadth) => breadth - origin);
}
