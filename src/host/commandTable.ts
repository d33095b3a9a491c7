import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import type { CommandId } from './ids.ts';
import type { Notices } from './notices.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a menu, a link or a key binding passes is checked by each command.
type CommandHandler = (...args: any[]) => unknown;

/** Registers commands; a failure becomes one notification, and the command then resolves to undefined. */
export class CommandTable extends Disposable {
	readonly #notices: Notices;

	constructor(notices: Notices) {
		super();
		this.#notices = notices;
	}

	add(id: CommandId, handler: CommandHandler): void {
		this.register(
			vscode.commands.registerCommand(id, async (...args: unknown[]) => {
				try {
					return await handler(...args);
				} catch (error) {
					this.#notices.failure(error);
					return undefined;
				}
			}),
		);
	}
}
