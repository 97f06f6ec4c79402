"""Django as applications use it, over mysqlclient: its own apps and one of ours, migrations forwards and backwards, text of every kind, JSON,
bulk inserts, savepoints, locking reads, upserts, the admin's queries and statements of one's own."""
import os
import sys
import tempfile

import MySQLdb

import django
from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F, OuterRef, Prefetch, Q, Subquery, Sum, Value
from django.db.models.functions import Concat, Length, Upper

env = os.environ
DATABASE = f"{env['TG_TABLE']}_dj"
LOGIN = dict(user=env["TG_USER"], password=env["TG_PASSWORD"], host=env["TG_HOST"], port=int(env["TG_PORT"]))
TEXTS = ["plain", "it's \"quoted\" and `ticked`", "back\\slash\\", "\\'", "'; DROP TABLE x; -- ", "誠' OR 1=1 -- 誠\\", "縗乗表日本語", "🐬 naïve \\🐬'",
         "/* no comment */ # -- ", "%s %(name)s :name ? 100%", "line\nbreak\r\ttab\0nul\x1a"]
MODELS = '''
from django.db import models

class Author(models.Model):
    name = models.CharField(max_length=100, unique=True, db_comment="it's a \\\\ name")
    data = models.JSONField(default=dict)
    born = models.DateTimeField(null=True)

class Book(models.Model):
    author = models.ForeignKey(Author, models.CASCADE)
    title = models.TextField()
    price = models.DecimalField(max_digits=8, decimal_places=2, default=1)
    tags = models.ManyToManyField("Tag")
    class Meta:
        indexes = [models.Index(fields=["price", "-id"])]
        constraints = [models.CheckConstraint(condition=~models.Q(title="it's forbidden \\\\"), name="allowed")]

class Tag(models.Model):
    label = models.SlugField()
'''


def same(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


def connect(folder):
    direct = MySQLdb.connect(**LOGIN, charset="utf8mb4", ssl_mode="DISABLED")
    for statement in (f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4"):
        direct.cursor().execute(statement)
    os.makedirs(f"{folder}/shop/migrations")
    for name, content in {"__init__.py": "", "migrations/__init__.py": "", "models.py": MODELS}.items():
        with open(f"{folder}/shop/{name}", "w") as file:
            file.write(content)
    sys.path.insert(0, folder)
    settings.configure(
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "django.contrib.sites", "shop"],
        SITE_ID=1, SECRET_KEY="it's no secret", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        DATABASES={"default": dict(
            ENGINE="django.db.backends.mysql", NAME=DATABASE, USER=LOGIN["user"], PASSWORD=LOGIN["password"], HOST=LOGIN["host"], PORT=LOGIN["port"],
            OPTIONS=dict(charset="utf8mb4", ssl_mode="DISABLED", init_command="SET sql_mode='STRICT_TRANS_TABLES', default_storage_engine=INNODB"))})
    django.setup()


def migrations(folder):
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)
    with open(f"{folder}/shop/models.py", "a") as file:
        file.write("\nclass Tag2(models.Model):\n    label = models.CharField(max_length=9, db_default=\"a'\\\\\\\\\")\n")
    with open(f"{folder}/shop/migrations/0002_more.py", "w") as file:
        file.write('''from django.db import migrations, models
def forwards(apps, schema_editor):
    Author = apps.get_model("shop", "Author")
    Author.objects.bulk_create(Author(name=f"誠'{n}\\\\") for n in range(3))
    Author.objects.all().delete()
class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [migrations.AddField("Tag", "note", models.CharField(max_length=20, default="it's \\\\ 縗")),
                  migrations.RunPython(forwards, migrations.RunPython.noop),
                  migrations.AlterField("Tag", "label", models.CharField(max_length=80)),
                  migrations.RenameField("Tag", "note", "remark"),
                  migrations.RunSQL("INSERT INTO shop_tag (label, remark) VALUES ('sql''s \\\\\\\\', '')", "DELETE FROM shop_tag WHERE label = 'sql''s \\\\\\\\'"),
                  migrations.RemoveField("Tag", "remark")]
''')
    call_command("migrate", "shop", "0002", verbosity=0)
    call_command("migrate", "shop", "0001", verbosity=0)
    call_command("inspectdb", stdout=open(os.devnull, "w"))


def texts(_):
    from shop.models import Author, Book, Tag
    tags = [Tag.objects.create(label=f"tag-{n}") for n in range(3)]
    for n, value in enumerate(TEXTS):
        author = Author.objects.create(name=f"{n} {value}", data={"text": value, "list": [1, None, value]}, born="2026-01-01T00:00:00Z")
        book = author.book_set.create(title=value)
        book.tags.set(tags[: n % 3 + 1])
        author.refresh_from_db()
        same(author.data, {"text": value, "list": [1, None, value]})
        same(Book.objects.get(title__exact=value, author=author).title, value)
        same(Book.objects.filter(title__contains=value, author=author).count(), 1)
        same(Author.objects.filter(data__text=value).count(), 1)
        same(Author.objects.filter(name__icontains=value, data__list__contains=[1]).count() >= 1, True)
    same(list(Author.objects.filter(data__has_key="text").values_list("data__list__0", flat=True).distinct()), [1])
    found = Author.objects.prefetch_related(Prefetch("book_set", Book.objects.prefetch_related("tags")))
    same(sum(len(book.tags.all()) for author in found for book in author.book_set.all()) > 11, True)


def many_rows(_):
    from shop.models import Author, Book
    author = Author.objects.first()
    Book.objects.bulk_create([Book(author=author, title=f"{n} {TEXTS[n % len(TEXTS)]}") for n in range(3000)], batch_size=1500)
    some = list(Book.objects.filter(author=author)[:200])
    for book in some:
        book.title += " \\' updated"
    Book.objects.bulk_update(some, ["title"])
    Author.objects.bulk_create([Author(name=f"0 {TEXTS[0]}", data={"a": "縗'"})], update_conflicts=True, update_fields=["data"])
    Author.objects.bulk_create([Author(name=f"0 {TEXTS[0]}")], ignore_conflicts=True)
    same(sum(1 for _ in Book.objects.iterator(chunk_size=500)), 3000 + len(TEXTS))


def aggregates(_):
    from shop.models import Author, Book
    counted = Author.objects.annotate(books=Count("book", distinct=True), worth=Sum("book__price"), upper=Upper("name"))
    same(counted.order_by("-books").first().books, 3001)
    newest = Book.objects.filter(author=OuterRef("pk")).order_by("-id").values("title")[:1]
    list(Author.objects.annotate(newest=Subquery(newest)).filter(Q(newest__isnull=False) | ~Q(name__regex="^it's \\\\")))
    Book.objects.filter(title__startswith="\\'").update(title=Concat(F("title"), Value("!'\\")), price=F("price") + 1)
    list(Book.objects.annotate(length=Length("title")).filter(length__gt=5).values("length").annotate(n=Count("id"))[:10])
    list(Author.objects.values_list("name").union(Book.objects.values_list("title")).order_by("name")[:10])
    list(Author.objects.extra(where=["name LIKE %s"], params=["%誠'%"]))
    list(Author.objects.dates("born", "month"))
    Book.objects.filter(price__gt=3).explain()


def transactions(_):
    from shop.models import Author, Book
    with transaction.atomic():
        author = Author.objects.select_for_update().get(pk=Author.objects.first().pk)
        list(Book.objects.select_for_update(skip_locked=True).filter(author=author)[:3])
        for _ in range(2):
            try:
                with transaction.atomic():
                    Author.objects.create(name=author.name)
            except IntegrityError:
                pass
        Author.objects.get_or_create(name="it's got \\", defaults={"data": {}})
        Author.objects.update_or_create(name="it's got \\", defaults={"data": {"a": 1}})
    try:
        with transaction.atomic():
            Book.objects.all().delete()
            raise ValueError
    except ValueError:
        same(Book.objects.count(), 3000 + len(TEXTS))


def raw(_):
    from shop.models import Author
    same(len(list(Author.objects.raw("SELECT a.* FROM shop_author a WHERE name LIKE '%%誠''%%' AND name <> %s", ["\\'"]))), 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s, '\\'', \"it's\" -- a comment's quote", [TEXTS[5]])
        same(cursor.fetchone(), (TEXTS[5], "'", "it's"))
        cursor.executemany("INSERT INTO shop_tag (label) VALUES (%s)", [(value,) for value in TEXTS])
        cursor.execute("UPDATE shop_book b JOIN shop_author a ON a.id = b.author_id SET b.price = 2 WHERE a.name = '誠\\'\\\\'")
        cursor.execute("CREATE VIEW shop_titles AS SELECT title FROM shop_book WHERE title LIKE '%\\'%'")
        cursor.execute("SELECT COUNT(*) FROM shop_titles")
        cursor.execute("DROP VIEW shop_titles")
        connection.introspection.get_constraints(cursor, "shop_book")


def users(_):
    from django.contrib.auth.models import Group, Permission, User
    from django.contrib.sessions.backends.db import SessionStore
    user = User.objects.create_user("o'brien\\", "誠@example.com", "secret'\\")
    user.groups.add(Group.objects.create(name="縗's"))
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="shop"))
    same(user.has_perm("shop.add_book"), True)
    session = SessionStore()
    session["cart"] = TEXTS
    session.save()
    same(SessionStore(session.session_key)["cart"], TEXTS)
    SessionStore.clear_expired()


def quit(_):
    call_command("flush", interactive=False, verbosity=0)
    call_command("migrate", "shop", "zero", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {DATABASE}")


STEPS = dict(connect=connect, migrations=migrations, text=texts, many_rows=many_rows, aggregates=aggregates, transaction=transactions, raw=raw,
             users=users, quit=quit)
with tempfile.TemporaryDirectory() as folder:
    for name, step in STEPS.items():
        step(folder)
        print("ok", name, flush=True)
print("done")
