import type { KeyPress } from './keys.ts';

/** Returns the kind of control that would receive a key press. */
export function focusKind(target: EventTarget | undefined): KeyPress['focus'] {
	if (!(target instanceof Element)) return 'other';
	if (target.matches('textarea, [contenteditable], input:not([type=range], [type=checkbox])')) return 'text';
	const host = target.getRootNode() instanceof ShadowRoot ? (target.getRootNode() as ShadowRoot).host : target;
	if (host.matches('vscode-text-field')) return 'text';
	return host.closest('vscode-dropdown, [data-keys="own"]') || target.matches('input, select') ? 'choice' : 'other';
}
