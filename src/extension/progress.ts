import * as vscode from 'vscode';
import { viewIds } from './ids.ts';

export interface ProgressWords {
	/** Title, such as "Stopping addition". */
	readonly title: string;
	/** Why the task takes a long time; shown after the delay. */
	readonly why?: string;
	/** View that shows the progress bar; defaults to the *Runs* view. */
	readonly view?: string;
}

/** Delay before a notification is shown, in milliseconds. */
const graceMs = 2000;

/**
 * Runs a task and shows its progress: immediately as a bar in the view and, after two seconds, also as a cancellable
 * notification that shows what is happening. Canceling aborts the signal.
 */
export async function withProgress<T>(words: ProgressWords, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
	const abort = new AbortController();
	const work = task(abort.signal);
	const settled = work.then(
		() => true,
		() => true,
	);
	const location = { viewId: words.view ?? viewIds.runs };
	void vscode.window.withProgress({ location, title: words.title }, () => settled);
	let timer: NodeJS.Timeout | undefined;
	const slow = new Promise<false>((resolve) => {
		timer = setTimeout(() => resolve(false), graceMs);
	});
	if (!(await Promise.race([settled, slow]))) {
		void vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: words.title, cancellable: true },
			(progress, token) => {
				token.onCancellationRequested(() => abort.abort());
				if (words.why !== undefined) progress.report({ message: words.why });
				return settled;
			},
		);
	}
	clearTimeout(timer);
	return work;
}
