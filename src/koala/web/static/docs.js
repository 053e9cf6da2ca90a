// The reference of the HTTP API, drawn by Swagger UI from the server's own description.

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  defaultModelsExpandDepth: 1,
  tryItOutEnabled: true,
  validatorUrl: null, // it would send the description to another host
});
