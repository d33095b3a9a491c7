import type * as vscode from 'vscode';
import { commandIds } from '../ids.ts';
import { showInputBox } from '../quickInput.ts';
import type { RunPicker } from '../runPicker.ts';
import type { RunStore } from '../runStore.ts';
import { nameOf, type RunView } from '../runView.ts';

type RunActions = typeof import('../../runs/runActions.ts');

interface Needs {
	readonly picker: RunPicker;
	readonly store: RunStore;
}

/** Handlers for the commands that edit a run's name, tags, and note. The engine's own files are not changed. */
export function describeCommands({ picker, store }: Needs) {
	/** Asks for the new text unless the caller provides it. Empty text removes the current value. */
	const describe = async (
		args: readonly unknown[],
		title: string,
		box: (view: RunView) => vscode.InputBoxOptions,
		change: (actions: RunActions, folder: string, text: string) => Promise<unknown>,
	) => {
		const view = await picker.one(args, { title, what: 'was found', applies: () => true });
		if (view === undefined) return;
		const given = typeof args[1] === 'string' ? args[1] : undefined;
		const text = given ?? (await showInputBox({ title: `${title}: ${nameOf(view)}`, ...box(view) }));
		if (text === undefined) return;
		// Loaded on first use to keep activation fast.
		await change(await import('../../runs/runActions.ts'), view.folder, text);
		await store.reload(view.folder);
	};
	return {
		[commandIds.renameRun]: (...args: unknown[]) =>
			describe(
				args,
				'Rename',
				(view) => ({ value: nameOf(view), prompt: "Leave empty to use the recipe's name" }),
				(actions, folder, text) => actions.renameRun(folder, text),
			),
		[commandIds.editTags]: (...args: unknown[]) =>
			describe(
				args,
				'Edit tags',
				(view) => ({ value: view.annotation?.tags?.join(', ') ?? '', prompt: 'Comma-separated tags' }),
				(actions, folder, text) => actions.tagRun(folder, text.split(',')),
			),
		[commandIds.editNote]: (...args: unknown[]) =>
			describe(
				args,
				'Edit note',
				(view) => ({ value: view.annotation?.note ?? '', prompt: 'Note shown with the run' }),
				(actions, folder, text) => actions.noteRun(folder, text.trim()),
			),
	};
}
