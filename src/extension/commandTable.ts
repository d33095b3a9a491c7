import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import type { CommandId } from './ids.ts';
import type { Notices } from './notices.ts';
import { trustedCommands } from './trustedCommands.ts';

// biome-ignore lint/suspicious/noExplicitAny: each command checks its own arguments.
type CommandHandler = (...args: any[]) => unknown;

/** Handlers for several commands, by ID. */
export type CommandHandlers<Id extends CommandId> = Readonly<Record<Id, CommandHandler>>;

export interface CommandResult {
	readonly id: CommandId;
	/** Return value of the command; undefined if the user canceled a command that returns a value. */
	readonly result: unknown;
}

/**
 * Registers commands. Commands that require workspace trust fail without it. A failure is shown as one notification,
 * and the command resolves to undefined.
 */
export class CommandTable extends Disposable {
	readonly #notices: Notices;
	readonly #done = this.register(new Emitter<CommandResult>());
	/** Fires after a command has completed without a failure. */
	readonly onDidComplete = this.#done.event;

	constructor(notices: Notices) {
		super();
		this.#notices = notices;
	}

	add(id: CommandId, handler: CommandHandler): void {
		this.register(
			vscode.commands.registerCommand(id, async (...args: unknown[]) => {
				try {
					// Key bindings and other extensions can run a command regardless of its menu conditions.
					if (trustedCommands.has(id) && !vscode.workspace.isTrusted) {
						throw new Failure(
							'denied',
							'Programs, rewards, and policies are disabled because this workspace is not trusted.',
							'Trust the workspace, then try again.',
						);
					}
					const result = await handler(...args);
					this.#done.fire({ id, result });
					return result;
				} catch (error) {
					this.#notices.failure(error);
					return undefined;
				}
			}),
		);
	}

	/**
	 * Registers commands whose code is not needed before one of them runs. If loading fails, the command fails, and the
	 * next use tries again.
	 * @param load called for each use, because imported modules are cached
	 */
	addLater<const Id extends CommandId>(ids: readonly Id[], load: () => Promise<CommandHandlers<Id>>): void {
		for (const id of ids) this.add(id, async (...args) => (await load())[id](...args));
	}
}
