import type { TreePlace } from '../panels/tree/treePanel.ts';

/** Returns the requested tree (from 0) and node, if any. Menus pass the selected items as this argument instead. */
export function treePlaceOf(argument: unknown): Pick<TreePlace, 'tree' | 'node'> {
	if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return {};
	const { tree, node } = argument as Readonly<Record<string, unknown>>;
	const whole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
	return { ...(whole(tree) ? { tree } : {}), ...(whole(node) ? { node } : {}) };
}
