import { basename } from 'node:path';
import * as vscode from 'vscode';
import { isLoopbackAddress } from '../core/episode/serverAddress.ts';
import type { Agree } from '../runs/foreignCode.ts';
import { displayText } from './runView.ts';

/** Asks for consent to run the code of a run or pipeline that this user did not start. */
export const agreeForeignCode: Agree = async ({ folder, uses }) => {
	const shown = uses.length > 8 ? [...uses.slice(0, 8), `${uses.length - 8} more`] : uses;
	const answer = await vscode.window.showWarningMessage(
		`You did not start ${displayText(basename(folder))} on this machine, or its recipe has changed since you started it. Run its code?`,
		{ modal: true, detail: `This uses ${shown.map((use) => displayText(use, 200)).join(', ')}.` },
		{ title: 'Run Code' },
	);
	return answer !== undefined;
};

/**
 * Asks for consent to use an environment server specified in a file, unless it is on this machine. The server sees
 * every tool call, and its answers become part of prompts.
 */
export async function agreeServer(server: string | undefined): Promise<boolean> {
	if (server === undefined || isLoopbackAddress(server)) return true;
	const answer = await vscode.window.showWarningMessage(
		`Use the environment server ${displayText(server, 120)}?`,
		{ modal: true, detail: "It receives dataset rows and the model's tool calls." },
		{ title: 'Use Server' },
	);
	return answer !== undefined;
}
