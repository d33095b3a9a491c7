import { registerHooks } from 'node:module';

const url = new URL('./vscodeStandIn.ts', import.meta.url).href;

// Host modules that are imported after this one find the stand-in under the editor's name.
registerHooks({
	resolve: (specifier, context, next) =>
		specifier === 'vscode' ? { url, shortCircuit: true } : next(specifier, context),
});
