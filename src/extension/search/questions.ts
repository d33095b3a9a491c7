import * as vscode from 'vscode';

/** What a question of several is answered with, when it is not answered: the one before it, or none at all. */
export type NoAnswer = 'back' | 'cancel';

export interface Question {
	readonly title: string;
	readonly placeholder?: string;
	/** Which of how many. */
	readonly step: number;
	readonly steps: number;
	/** Offers to go back within the first step, too. */
	readonly back?: boolean;
}

export interface Choice<T> extends vscode.QuickPickItem {
	readonly value: T;
}

/** What is offered; separators among it are no choices. */
export type Choices<T> = readonly (Choice<T> | vscode.QuickPickItem)[];

/** A list to choose one of; the first is proposed, or `proposed`. What takes a while to be found is waited for on screen. */
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

/** A line of text; `fault` says what is wrong with it. What is secret is not shown. */
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
