import * as vscode from 'vscode';
import { isLoopbackAddress } from '../../core/episode/serverAddress.ts';
import { displayText } from '../runView.ts';

/**
 * Asks for consent to use an environment server that a file names, unless it is on this machine. The server sees every
 * tool call, and its answers become part of prompts.
 */
export async function agreeServer(server: string | undefined): Promise<boolean> {
	if (server === undefined || isLoopbackAddress(server)) return true;
	const answer = await vscode.window.showWarningMessage(
		`Use the environment server ${displayText(server, 120)}?`,
		{ modal: true, detail: 'It receives the rows and the tool calls of the model.' },
		{ title: 'Use Server' },
	);
	return answer !== undefined;
}
