/* A MariaDB authentication plugin for tests: its clients stand in for the account that the plugin's argument names, as
 * those of PAM do. It asks as mysql_native_password does, and any proof of 20 bytes is right.
 *
 * The structures are those of MariaDB's plugin_auth_common.h and plugin_auth.h, which its packages do not have. */

#include <string.h>

#define INTERFACE 0x0202
#define AUTHENTICATION 7
#define GPL 1
#define STABLE 5
#define OK_AS_GIVEN -1
#define FAILED 0
#define NAME_SIZE 513

struct vio {
  int (*read_packet)(struct vio *, unsigned char **);
  int (*write_packet)(struct vio *, const unsigned char *, int);
};

struct account {
  const char *user_name;
  unsigned int user_name_length;
  const char *auth_string;
  unsigned long auth_string_length;
  char authenticated_as[NAME_SIZE];
  char external_user[NAME_SIZE];
  int password_used;
};

static int authenticate(struct vio *vio, struct account *account) {
  unsigned char *proof;
  if (vio->write_packet(vio, (const unsigned char *)"01234567890123456789", 21)) return FAILED;
  if (vio->read_packet(vio, &proof) != 20) return FAILED;
  if (account->auth_string_length >= NAME_SIZE) return FAILED;
  memcpy(account->authenticated_as, account->auth_string, account->auth_string_length);
  account->authenticated_as[account->auth_string_length] = 0;
  account->password_used = 1;
  return OK_AS_GIVEN;
}

static struct {
  int version;
  const char *client_plugin;
  int (*authenticate)(struct vio *, struct account *);
  int (*hash_password)(const char *, size_t, char *, size_t *);
  int (*preprocess_hash)(const char *, size_t, unsigned char *, size_t *);
} plugin = {INTERFACE, "mysql_native_password", authenticate, 0, 0};

struct declaration {
  int type;
  void *info;
  const char *name, *author, *description;
  int license;
  int (*init)(void *), (*deinit)(void *);
  unsigned int version;
  void *status, *variables;
  const char *version_text;
  unsigned int maturity;
};

int _maria_plugin_interface_version_ = 0x010f;
int _maria_sizeof_struct_st_plugin_ = sizeof(struct declaration);
struct declaration _maria_plugin_declarations_[] = {
    {AUTHENTICATION, &plugin, "stand_in", "Tollgate", "tests", GPL, 0, 0, 1, 0, 0, "1", STABLE},
    {0},
};
