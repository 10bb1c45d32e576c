# frozen_string_literal: true

require "skep/fork"

# The threads room: threads that know they can be lost. A fork takes along only the thread that
# forks; what is made here comes back by itself in the child.
#
#   require "skep/threads"
#   mailer = Skep::Threads::Background.new("mailer") { |inbox| inbox.each { |mail| deliver(mail) } }
#   mailer.push(mail)
#   pool = Skep::Threads::Pool.new(5)
#   pool.run(orders) { |order| invoice(order) }   # => results, in order
#
# It waits by queue and by deadline, never by looking again, and kills no thread.
module Skep
  module Threads
  end
end

require "skep/threads/inbox"
require "skep/threads/inbox/terms"
require "skep/threads/inbox/contents"
require "skep/threads/inbox/closed"
require "skep/threads/inbox/full"
require "skep/threads/background"
require "skep/threads/background/worker"
require "skep/threads/background/backoff"
require "skep/threads/background/revival"
require "skep/threads/background/roster"
require "skep/threads/background/closed"
require "skep/threads/background/dropped"
require "skep/threads/background/elsewhere"
require "skep/threads/background/killed"
require "skep/threads/background/undone"
require "skep/threads/pool"
require "skep/threads/pool/closed"
require "skep/threads/pool/jobs_failed"
require "skep/threads/pool/thread_killed"
require "skep/threads/pool/forked"
require "skep/threads/pool/batch"
require "skep/threads/pool/worker"
require "skep/threads/pool/crew"
