/**
 * `/api/swagger`: the API description as a page, with which requests can be tried.
 *
 * All resources come from this daemon, with relative addresses, so that the page works below any path. A
 * token that the user enters stays in the page's memory.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RequestHandler, Router, static as staticFiles } from 'express';
import { SoftquotaError } from '../errors.ts';
import { packageDirectory } from '../package.ts';

/** Folder in which `npm run build` puts Swagger UI; packages contain it, too. */
const builtFolder = fileURLToPath(new URL('dist/swagger', packageDirectory));

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>softquota: the API</title>
<link rel="icon" href="swagger/favicon-32x32.png">
<link rel="stylesheet" href="swagger/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="swagger/swagger-ui-bundle.js"></script>
<script src="swagger/start.js"></script>
</body>
</html>
`;

/** Sections are collapsed: drawing all operations takes a browser several seconds. */
const start = `SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'none',
  validatorUrl: null,
});
`;

/** Files of the page; the licenses beside them are not served. */
const used = new Set(['/swagger-ui.css', '/swagger-ui-bundle.js', '/favicon-32x32.png']);

export function swaggerPage(folder: string = builtFolder): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/api/swagger', (_request, response) => {
    if (!existsSync(join(folder, 'swagger-ui-bundle.js'))) {
      throw new SoftquotaError(
        'not_ready',
        'this page is not built: run npm run build in the checkout of softquota; the description itself is api/v1/openapi.json',
      );
    }
    response.type('html').send(page);
  });
  // The relative addresses in the page need the address without the slash.
  router.get('/api/swagger/', (_request, response) => {
    response.redirect('../swagger');
  });
  router.get('/api/swagger/start.js', (_request, response) => {
    response.type('js').send(start);
  });
  router.use('/api/swagger', onlyUsed, staticFiles(folder, { index: false }));
  return router;
}

const onlyUsed: RequestHandler = (request, _response, next) => {
  next(used.has(request.path) ? undefined : 'router');
};
