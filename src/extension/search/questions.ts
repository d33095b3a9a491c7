import * as vscode from 'vscode';

/** Result of a dismissed question in a multistep flow: go back to the previous question, or cancel the flow. */
export type NoAnswer = 'back' | 'cancel';

export interface Question {
	readonly title: string;
	readonly placeholder?: string;
	/** Current step number. */
	readonly step: number;
	readonly steps: number;
	/** Shows the Back button even on the first step. */
	readonly back?: boolean;
}

export interface Choice<T> extends vscode.QuickPickItem {
	readonly value: T;
}

/** Items to show. Separators cannot be chosen. */
export type Choices<T> = readonly (Choice<T> | vscode.QuickPickItem)[];

/**
 * Shows a pick list. `proposed` (default: the first item) is active initially. While choices load, the list shows as
 * busy.
 */
export function askChoice<T>(
	question: Question,
	choices: Choices<T> | Promise<Choices<T>>,
	proposed?: (value: T) => boolean,
): Promise<{ readonly value: T } | NoAnswer> {
	return new Promise((resolve, reject) => {
		const pick = vscode.window.createQuickPick<Choice<T>>();
		const offer = (items: Choices<T>) => {
			pick.items = items as Choice<T>[];
			const found = pick.items.find(
				(item) => item.kind !== vscode.QuickPickItemKind.Separator && proposed?.(item.value),
			);
			if (found !== undefined) pick.activeItems = [found];
			pick.busy = false;
		};
		pick.matchOnDescription = true;
		pick.matchOnDetail = true;
		if (choices instanceof Promise) {
			pick.busy = true;
			choices.then(offer, (error: unknown) => {
				reject(error);
				pick.dispose();
			});
		} else offer(choices);
		show(pick, question, resolve);
		pick.onDidAccept(() => {
			const [item] = pick.selectedItems;
			if (item === undefined) return;
			resolve({ value: item.value });
			pick.dispose();
		});
		pick.show();
	});
}

/** Prompts for a line of text. `fault` returns a validation message. Secret input is masked. */
export function askText(
	question: Question,
	value: string,
	fault: (text: string) => string | null = () => null,
	secret = false,
): Promise<{ readonly value: string } | NoAnswer> {
	return new Promise((resolve) => {
		const box = vscode.window.createInputBox();
		box.value = value;
		box.password = secret;
		show(box, question, resolve);
		box.onDidChangeValue((text) => {
			box.validationMessage = fault(text) ?? undefined;
		});
		box.onDidAccept(() => {
			const words = fault(box.value);
			box.validationMessage = words ?? undefined;
			if (words !== null) return;
			resolve({ value: box.value });
			box.dispose();
		});
		box.show();
	});
}

function show(
	input: vscode.QuickPick<never> | vscode.QuickPick<Choice<never>> | vscode.InputBox | vscode.QuickInput,
	{ title, placeholder, step, steps, back = step > 1 }: Question,
	resolve: (answer: NoAnswer) => void,
): void {
	const asked = input as vscode.InputBox;
	asked.title = title;
	if (placeholder !== undefined) asked.placeholder = placeholder;
	asked.ignoreFocusOut = true;
	if (steps > 1) {
		asked.step = step;
		asked.totalSteps = steps;
	}
	if (back) asked.buttons = [vscode.QuickInputButtons.Back];
	asked.onDidTriggerButton((button) => {
		if (button !== vscode.QuickInputButtons.Back) return;
		resolve('back');
		asked.dispose();
	});
	asked.onDidHide(() => {
		resolve('cancel');
		asked.dispose();
	});
}
