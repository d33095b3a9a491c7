/**
 * Runs one browser for all tests: a process that starts the browser and serves it over a loopback socket, so that each
 * test can connect and create its own contexts. Prints the address; exits with the browser when its standard input
 * closes.
 */
import { chromium, type LaunchOptions } from 'playwright-core';

const launch = JSON.parse(process.argv[2] ?? '{}') as LaunchOptions;
// Pages live for seconds, which is too short for optimized code to pay off.
const args = [...(launch.args ?? []), '--js-flags=--no-opt'];
const server = await chromium.launchServer({ ...launch, args, host: '127.0.0.1' });
process.stdout.write(`${server.wsEndpoint()}\n`);
const end = async () => {
	await server.close();
	process.exit(0);
};
process.stdin.on('end', end).on('error', end).resume();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
server.on('close', () => process.exit(1));
